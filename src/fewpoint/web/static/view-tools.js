/** How is the image moved, and made brighter or of more contrast, by a drag? */

import { moveTo } from "./crosshair.js";
import { coarseWindow } from "./frames.js";
import { get, openProject, set } from "./store.js";
import { pan } from "./view.js";

/** Screen pixels of a drag that change the window by its whole range. */
const FULL_DRAG = 600;

/** @type {{y: number, x: number} | null} */
let last = null;

/** @type {import("./tools.js").Tool} */
export const panTool = {
  cursor: "grab",
  press(pointer) {
    last = pointer.screen;
  },
  drag(pointer, stage) {
    if (last === null) return;
    stage.look(pan(stage.view, pointer.screen.x - last.x, pointer.screen.y - last.y));
    last = pointer.screen;
  },
  release: forget,
  abandon: forget,
  draw() {},
};

/** Up and down is the level, left and right the width, as on a viewing station. @type {import("./tools.js").Tool} */
export const windowTool = {
  cursor: "ns-resize",
  press(pointer) {
    last = pointer.screen;
  },
  drag(pointer) {
    if (last === null) return;
    changeWindow((pointer.screen.y - last.y) / FULL_DRAG, (pointer.screen.x - last.x) / FULL_DRAG);
    last = pointer.screen;
  },
  release: forget,
  abandon: forget,
  draw() {},
};

/** A press puts the crosshair there, a drag takes it along. @type {import("./tools.js").Tool} */
export const crossTool = {
  cursor: "crosshair",
  press() {},
  drag(pointer) {
    if (pointer.inside) moveTo(pointer.place);
  },
  release() {},
  abandon() {},
  draw() {},
};

function forget() {
  last = null;
}

/**
 * The window as it was dragged, finer than the one that frames are fetched with.
 * @type {{level: number, width: number, shown: object} | null}
 */
let fine = null;

/** Both as a share of the whole range of values. @param {number} level @param {number} width */
export function changeWindow(level, width) {
  const { window: shown } = get();
  if (shown === null) return;
  const full = openProject().window;
  const range = full.full_high - full.full_low;
  if (fine?.shown !== shown) fine = { level: (shown.low + shown.high) / 2, width: shown.high - shown.low, shown };
  fine.level = Math.min(full.full_high, Math.max(full.full_low, fine.level + level * range));
  fine.width = Math.min(2 * range, Math.max(range / 256, fine.width + width * range));
  const window = coarseWindow(fine.level - fine.width / 2, fine.level + fine.width / 2, full);
  if (window.low === shown.low && window.high === shown.high) return;
  fine.shown = window;
  set({ window });
}

export function resetWindow() {
  const { low, high } = openProject().window;
  if (get().window !== null) set({ window: { low, high } });
}
