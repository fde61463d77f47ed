/** Which planes are shown, how are they called, and which one is large? */

import { planeOf } from "./anatomy.js";
import { crosshair } from "./crosshair.js";
import { find, make } from "./dom.js";
import { get, set, watch } from "./store.js";

/** @typedef {import("./stage.js").Stage} Stage */

const SIDES = /** @type {const} */ (["left", "right", "top", "bottom"]);

/** @param {Stage[]} stages  the large one first */
export function setUpPlanes(stages) {
  const area = find("planes", HTMLElement);
  watch(["project", "showPlanes"], ({ project, showPlanes }) => {
    area.hidden = !(project?.kind === "volume" && showPlanes);
  });
  for (const stage of stages) setUpPlane(stage);
}

/** The patient's sides round a plane, its name, and which one it is. @param {Stage} stage */
function setUpPlane(stage) {
  const holder = stage.canvas.parentElement;
  if (holder === null) return;
  const letters = SIDES.map((side) => make("span", { class: `letter ${side}` }));
  const name = make("button", { type: "button", class: "plane-name", onclick: () => enlarge(stage) });
  holder.append(...letters, name);
  watch(["project", "frame", "cursor", "mainAxis"], ({ project }) => {
    const plane = project === null ? null : planeOf(project, stage.axis);
    SIDES.forEach((side, index) => {
      letters[index].textContent = plane?.letters?.[side] ?? "";
    });
    const isNamed = plane !== null && project?.kind === "volume";
    name.hidden = !isNamed;
    if (plane === null || !isNamed) return;
    const place = `${plane.name} ${crosshair()[plane.axis]} / ${plane.count - 1}`;
    name.textContent = place;
    name.disabled = stage.isLarge;
    name.title = stage.isLarge ? "" : `Show the ${plane.name.toLowerCase()} plane large (Y)`;
    if (!stage.isLarge) stage.canvas.setAttribute("aria-label", `${plane.name} plane through the crosshair`);
  });
}

/** @param {Stage} stage */
function enlarge(stage) {
  set({ mainAxis: stage.axis, playing: false });
}

/** The next of the three planes becomes the large one. */
export function turnPlanes() {
  const { mainAxis } = get();
  set({ mainAxis: /** @type {import("./anatomy.js").Axis} */ ((mainAxis + 1) % 3), playing: false });
}
