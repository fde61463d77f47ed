/** Which objects are there, and which one is being marked? */

import { find, make, makeSvg } from "./dom.js";
import { act } from "./session.js";
import { get, openProject, set, watch } from "./store.js";

/** @typedef {import("./types.js").ObjectMessage} Thing */

export function setUpObjects() {
  const list = find("objects", HTMLElement);
  find("add-object", HTMLButtonElement).addEventListener("click", addObject);
  let shown = "";
  watch(["project", "object", "hidden"], ({ project, object }) => {
    const rows = project?.objects.map(({ name, colour, points, locked }) => [name, colour, points.length, locked]);
    const content = JSON.stringify([object, rows, get().hidden]);
    // A name that is being typed is not taken away under the hands.
    if (content === shown || list.querySelector("input.rename") !== null) return;
    shown = content;
    const controls = () => /** @type {HTMLElement[]} */ ([...list.querySelectorAll("button, input")]);
    const focused = controls().findIndex((control) => control === document.activeElement);
    list.replaceChildren(...(project?.objects ?? []).map((other, index) => row(other, index, other.name === object)));
    if (focused >= 0) controls()[focused]?.focus();
  });
}

async function addObject() {
  const names = openProject().objects.map((object) => object.name);
  let number = names.length + 1;
  while (names.includes(`object ${number}`)) number += 1;
  const name = `object ${number}`;
  if (await act({ kind: "add_object", name })) set({ object: name });
}

/** @param {Thing} object @param {number} index @param {boolean} chosen */
function row(object, index, chosen) {
  const count = object.points.length;
  const choose = make(
    "button",
    {
      type: "button",
      class: "choose",
      "aria-pressed": String(chosen),
      title: index < 9 ? `Mark this object (${index + 1})` : "Mark this object",
      onclick: () => set({ object: object.name }),
    },
    make("span", { class: "name", text: object.name }),
    make("span", { class: "count", text: `${count} ${count === 1 ? "point" : "points"}` }),
  );
  const colour = make("input", {
    type: "color",
    value: object.colour,
    "aria-label": `Colour of ${object.name}`,
    onchange: (/** @type {Event} */ event) => recolour(object, event),
  });
  const item = make("li", { class: chosen ? "chosen" : "" }, colour, choose, hider(object), locker(object));
  if (chosen) item.append(pencil(object, choose), remover(object));
  return item;
}

/** @param {Thing} object */
function hider({ name }) {
  const { hidden } = get();
  const isHidden = hidden.includes(name);
  const toggle = () => set({ hidden: isHidden ? hidden.filter((other) => other !== name) : [...hidden, name] });
  return symbolButton(isHidden ? "i-eye-off" : "i-eye", `${isHidden ? "Show" : "Hide"} ${name}`, toggle);
}

/** @param {Thing} object */
function locker({ name, locked }) {
  const toggle = () => act({ kind: "lock_object", object: name, locked: !locked });
  return symbolButton(locked ? "i-lock" : "i-unlock", `${locked ? "Unlock" : "Lock"} ${name}`, toggle);
}

/** @param {Record<string, string>} labels  offered for objects, with their codes */
export function offerLabels(labels) {
  const names = Object.entries(labels).map(([name, code]) => make("option", { value: name, label: `SNOMED CT ${code}` }));
  find("labels", HTMLDataListElement).replaceChildren(...names);
}

/** @param {Thing} object @param {Event} event */
function recolour(object, event) {
  const { target } = event;
  if (!(target instanceof HTMLInputElement)) return;
  target.blur();
  act({ kind: "recolour_object", object: object.name, colour: target.value.toLowerCase() });
}

/** @param {Thing} object @param {HTMLElement} choose  in whose place the name is typed */
function pencil(object, choose) {
  const edit = () => {
    const label = "Name of the object";
    const field = make("input", {
      type: "text",
      class: "rename",
      value: object.name,
      maxlength: 60,
      list: "labels",
      "aria-label": label,
    });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") field.value = object.name;
      if (event.key === "Escape" || event.key === "Enter") field.blur();
    });
    field.addEventListener("blur", () => {
      field.replaceWith(choose);
      rename(object, field.value.trim());
    });
    choose.replaceWith(field);
    field.focus();
    field.select();
  };
  return iconButton("✎", `Rename ${object.name}`, edit);
}

/** @param {Thing} object @param {string} name */
async function rename(object, name) {
  if (name === "" || name === object.name) return;
  if (await act({ kind: "rename_object", object: object.name, name })) set({ object: name });
}

/** @param {Thing} object */
function remover(object) {
  const button = iconButton("×", `Remove ${object.name}`, () => act({ kind: "remove_object", object: object.name }));
  button.disabled = openProject().objects.length === 1;
  return button;
}

/** @param {string} symbol @param {string} label @param {() => void} onclick */
function symbolButton(symbol, label, onclick) {
  const button = iconButton("", label, onclick);
  const picture = makeSvg("svg", { "aria-hidden": "true" }, makeSvg("use", { href: `#${symbol}` }));
  button.append(picture);
  return button;
}

/** @param {string} text @param {string} label @param {() => void} onclick */
function iconButton(text, label, onclick) {
  return make("button", { type: "button", class: "quiet small", "aria-label": label, title: label, onclick, text });
}
