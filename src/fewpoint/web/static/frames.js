/** Which frames are fetched round the one that is shown? */

import { frameAddress } from "./api.js";
import { Pictures } from "./pictures.js";
import { get } from "./store.js";

const AHEAD = 40;
const BEHIND = 12;

let lastFrame = 0;
let direction = 1;

/** The address of a frame as it is shown now. @param {number} frame */
export function addressOf(frame) {
  const { project, window } = get();
  return project === null ? "" : frameAddress(project, frame, window);
}

/** Ask for the shown frame, then for those that come next the way a person is going. @param {Pictures} pictures */
export function fetchAround(pictures) {
  const { project, frame } = get();
  if (project === null) return;
  if (frame !== lastFrame) direction = frame > lastFrame ? 1 : -1;
  lastFrame = frame;
  const order = nextFrames(frame, direction, project.frames);
  const room = Math.min(AHEAD + BEHIND, Pictures.room(project.width, project.height) - 1);
  const addresses = order.map(addressOf);
  pictures.want(addresses.slice(0, room), addresses.slice(room));
}

/**
 * Every frame, the likeliest to be wanted first: this one, mostly those ahead, now and then one behind.
 * @param {number} frame @param {number} ahead  1 or -1 @param {number} count
 */
export function nextFrames(frame, ahead, count) {
  const order = [frame];
  for (let forward = 1, back = 1; order.length < count;) {
    const before = order.length;
    for (let step = 0; step < Math.round(AHEAD / BEHIND); step += 1, forward += 1) order.push(frame + ahead * forward);
    order.push(frame - ahead * back);
    back += 1;
    for (let index = order.length - 1; index >= before; index -= 1) {
      if (order[index] < 0 || order[index] >= count) order.splice(index, 1);
    }
  }
  return order;
}

/**
 * The window in steps so coarse that a frame is not fetched again for every pixel of a drag.
 * @param {number} low
 * @param {number} high
 * @param {import("./types.js").WindowMessage} full
 */
export function coarseWindow(low, high, full) {
  const step = (full.full_high - full.full_low) / 256 || 1;
  const round = (/** @type {number} */ value) => Number((Math.round(value / step) * step).toPrecision(6));
  const bottom = round(low);
  return { low: bottom, high: Math.max(round(high), Number((bottom + step).toPrecision(6))) };
}
