/** Which objects are there, and which one is being marked? */

import { find, make } from "./dom.js";
import { act } from "./session.js";
import { get, openProject, set, watch } from "./store.js";

/** @typedef {import("./types.js").ObjectMessage} Thing */

export function setUpObjects() {
  const list = find("objects", HTMLElement);
  find("add-object", HTMLButtonElement).addEventListener("click", addObject);
  watch(["project", "object"], ({ project, object }) => {
    // A name that is being typed is not taken away under the hands.
    if (list.querySelector("input.rename") !== null) return;
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
  if (chosen) item.append(pencil(object, item), remover(object));
  return item;
}

/** @param {Thing} object @param {Event} event */
function recolour(object, event) {
  const { target } = event;
  if (!(target instanceof HTMLInputElement)) return;
  target.blur();
  act({ kind: "recolour_object", object: object.name, colour: target.value.toLowerCase() });
}

/** @param {Thing} object @param {HTMLElement} item */
function pencil(object, item) {
  const edit = () => {
    const field = make("input", {
      type: "text",
      class: "rename",
      value: object.name,
      maxlength: 60,
      "aria-label": "Name of the object",
    });
    const end = async (/** @type {boolean} */ keep) => {
      const name = field.value.trim();
      field.remove();
      if (
        keep &&
        name !== "" &&
        name !== object.name &&
        (await act({ kind: "rename_object", object: object.name, name }))
      ) {
        set({ object: name });
      } else refreshList();
    };
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") field.blur();
      if (event.key === "Escape") {
        field.value = object.name;
        field.blur();
      }
    });
    field.addEventListener("blur", () => end(true), { once: true });
    item.querySelector(".choose")?.replaceWith(field);
    field.focus();
    field.select();
  };
  return make("button", {
    type: "button",
    class: "quiet small",
    "aria-label": `Rename ${object.name}`,
    title: "Rename",
    onclick: edit,
    text: "✎",
  });
}

/** @param {Thing} object */
function remover(object) {
  const remove = () => act({ kind: "remove_object", object: object.name });
  const isLast = openProject().objects.length === 1;
  const title = isLast ? "The only object stays" : "Remove this object; undo brings it back";
  return make("button", {
    type: "button",
    class: "quiet small",
    "aria-label": `Remove ${object.name}`,
    title,
    disabled: isLast,
    onclick: remove,
    text: "×",
  });
}

/** Draw the list anew although nothing has changed. */
function refreshList() {
  const { project } = get();
  if (project !== null) set({ project: { ...project } });
}
