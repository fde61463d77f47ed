/** Which objects are there, and which one is being marked? */

import { find, make } from "./dom.js";
import { act } from "./session.js";
import { openProject, set, watch } from "./store.js";

/** @typedef {import("./types.js").ObjectMessage} Thing */

export function setUpObjects() {
  const list = find("objects", HTMLElement);
  find("add-object", HTMLButtonElement).addEventListener("click", addObject);
  let shown = "";
  watch(["project", "object"], ({ project, object }) => {
    const rows = project?.objects.map(({ name, colour, points }) => [name, colour, points.length]);
    const content = JSON.stringify([object, rows]);
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
  const item = make("li", { class: chosen ? "chosen" : "" }, colour, choose);
  if (chosen) item.append(pencil(object, choose), remover(object));
  return item;
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

/** @param {string} text @param {string} label @param {() => void} onclick */
function iconButton(text, label, onclick) {
  return make("button", { type: "button", class: "quiet small", "aria-label": label, title: label, onclick, text });
}
