/** Which place of the volume do all planes go through, and how is it moved? */

import { get, set } from "./store.js";

/** @typedef {import("./anatomy.js").Axis} Axis */
/** @typedef {{frame: number, y: number, x: number}} Place */

/** The place as frame, row and column. @returns {[number, number, number]} */
export function crosshair() {
  const { frame, cursor } = get();
  return [frame, cursor.y, cursor.x];
}

/** @param {Place} place */
export function moveTo({ frame, y, x }) {
  const { cursor } = get();
  set({ frame, cursor: cursor.y === y && cursor.x === x ? cursor : { y, x } });
}

/** Go through the planes across an axis. @param {Axis} axis @param {number} steps */
export function stepAlong(axis, steps) {
  goAlong(axis, crosshair()[axis] + steps);
}

/** Go to one of the planes across an axis. @param {Axis} axis @param {number} index */
export function goAlong(axis, index) {
  const { project } = get();
  if (project === null) return;
  const place = crosshair();
  const count = [project.frames, project.height, project.width][axis];
  place[axis] = Math.min(count - 1, Math.max(0, index));
  const [frame, y, x] = place;
  moveTo({ frame, y, x });
}
