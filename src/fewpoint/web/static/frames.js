/** Which pictures are fetched round the one that is shown? */

import { frameAddress } from "./api.js";
import { Pictures } from "./pictures.js";
import { get } from "./store.js";

/** @typedef {import("./anatomy.js").Plane} Plane */

const AHEAD = 40;
const BEHIND = 12;
/** How many planes on each side are fetched of those that are shown small. */
const BESIDE = 3;
/** How long the crosshair must stand still before they are, so that no word a person says waits behind them. */
const STILL_MS = 500;

/** The address of a frame, or of another plane, as it is shown now. @param {number} index @param {number} [axis] */
export function addressOf(index, axis = 0) {
  const { project, window } = get();
  return project === null ? "" : frameAddress(project, index, window, axis);
}

/** Asks for the shown plane, then for those that come next the way a person is going. */
export class Fetching {
  /** @param {Pictures} pictures */
  constructor(pictures) {
    this.pictures = pictures;
    this.last = 0;
    this.direction = 1;
    this.timer = 0;
  }

  /** @param {Plane} plane @param {number} index @param {boolean} isLarge */
  around(plane, index, isLarge) {
    if (index !== this.last) this.direction = index > this.last ? 1 : -1;
    this.last = index;
    const order = nextFrames(index, this.direction, plane.count);
    const addresses = (isLarge ? order : order.slice(0, 2 * BESIDE + 1)).map((other) => addressOf(other, plane.axis));
    const room = Math.min(AHEAD + BEHIND, Pictures.room(plane.width, plane.height) - 1);
    const wantAll = () => this.pictures.want(addresses.slice(0, room), addresses.slice(room));
    window.clearTimeout(this.timer);
    if (isLarge) return wantAll();
    this.pictures.want(addresses.slice(0, 1), []);
    this.timer = window.setTimeout(wantAll, STILL_MS);
  }
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
