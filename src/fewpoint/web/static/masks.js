/** Which mask lies over a frame, and how does it look? */

import { Unreachable, ask, probabilityAddress, readMask } from "./api.js";
import { context2d } from "./dom.js";
import { complain } from "./notices.js";
import { colourHeat, colourMask, decodeRuns, joinEdges, outline } from "./pixels.js";
import { activeRun, get, shownRun } from "./store.js";

const MOST_KEPT = 240;
const KEPT_BYTES = 200e6;
const PARALLEL = 3;
const MOST_WAITING = 12;

/** @typedef {import("./anatomy.js").Axis} Axis */
/** @typedef {{mask: Uint8Array, width: number, picture: HTMLCanvasElement, edges: Path2D, rough: boolean}} DrawnMask */
/**
 * @typedef {object} Which
 * @property {number | null} run  null: as the mask is shown now, whosever it is
 * @property {number} number  of the object
 * @property {Axis} axis
 * @property {number} index  of the frame, or of the row or column that the plane lies at
 * @property {string} version  another one is another mask
 * @property {boolean} rough
 */

/**
 * What is known, oldest first. What is not is fetched, that asked for last first: while a person scrubs, what has gone
 * by need not come at all.
 * @template Value
 */
class Shelf {
  /** @param {() => void} onLoad */
  constructor(onLoad) {
    this.onLoad = onLoad;
    /** @type {Map<string, Value>} */
    this.values = new Map();
    /** @type {Map<string, () => Promise<Value>>} oldest first */
    this.waiting = new Map();
    /** @type {Set<string>} */
    this.coming = new Set();
    /** What the server would not give is not asked for again. @type {Set<string>} */
    this.refused = new Set();
  }

  /** What is there, or null and a fetch. @param {string} key @param {() => Promise<Value>} fetch */
  take(key, fetch) {
    const known = this.values.get(key);
    if (known !== undefined) return known;
    if (this.coming.has(key) || this.refused.has(key)) return null;
    this.waiting.delete(key);
    this.waiting.set(key, fetch);
    if (this.waiting.size > MOST_WAITING) dropOldest(this.waiting);
    this.fetchMore();
    return null;
  }

  fetchMore() {
    if (this.coming.size >= PARALLEL) return;
    const next = [...this.waiting].at(-1);
    if (next === undefined) return;
    this.waiting.delete(next[0]);
    this.fetch(...next);
    this.fetchMore();
  }

  /** @param {string} key @param {() => Promise<Value>} fetch */
  async fetch(key, fetch) {
    this.coming.add(key);
    try {
      this.values.set(key, await fetch());
      if (this.values.size > room()) dropOldest(this.values);
    } catch (error) {
      if (!(error instanceof Unreachable)) {
        this.refused.add(key);
        complain(error);
      }
    }
    this.coming.delete(key);
    if (this.values.has(key)) this.onLoad();
    this.fetchMore();
  }
}

/**
 * Which mask it is: on which frame of what, and in which state.
 * @param {string} id
 * @param {import("./types.js").ObjectMessage} object
 * @param {Which} which
 */
function keysOf(id, object, which) {
  const place = JSON.stringify([id, object.number, which.axis, which.index, object.colour]);
  return { place, key: JSON.stringify([place, which]) };
}

/** How many masks are kept: a picture with four bytes a pixel, and the mask itself. */
function room() {
  const { project } = get();
  const bytes = 5 * (project?.width ?? 1) * (project?.height ?? 1);
  return Math.max(8, Math.min(MOST_KEPT, Math.floor(KEPT_BYTES / bytes)));
}

/** @param {Map<string, unknown>} map */
function dropOldest(map) {
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}

/** Masks and probabilities of the open project, fetched as they are looked at. */
export class Masks {
  /** @param {() => void} onLoad */
  constructor(onLoad) {
    /** @type {Shelf<DrawnMask>} */
    this.masks = new Shelf(onLoad);
    /** @type {Shelf<HTMLCanvasElement>} */
    this.heats = new Shelf(onLoad);
    /** The last mask of each object and frame, shown until the next has come. @type {Map<string, DrawnMask>} */
    this.stale = new Map();
  }

  /**
   * The mask to show now.
   * @param {import("./types.js").ObjectMessage} object
   * @param {Axis} axis
   * @param {number} index
   * @returns {DrawnMask | null}
   */
  of(object, axis, index) {
    const { project } = get();
    const which = chooseMask(object, axis, index);
    if (which === null || project === null) return null;
    const { place, key } = keysOf(project.id, object, which);
    const mask = this.masks.take(key, () => fetchMask(project.id, which, object.colour));
    if (mask !== null) this.stale.set(place, mask);
    if (this.stale.size > room()) dropOldest(this.stale);
    return mask ?? this.stale.get(place) ?? null;
  }

  /**
   * The mask of a certain run, as it was found.
   * @param {import("./types.js").ObjectMessage} object
   * @param {{axis: Axis, index: number}} where
   * @param {number} run
   * @returns {DrawnMask | null}
   */
  ofRun(object, { axis, index }, run) {
    const { project } = get();
    if (project === null) return null;
    const which = { run, number: object.number, axis, index, rough: false, version: "compared" };
    const { key } = keysOf(project.id, object, which);
    return this.masks.take(key, () => fetchMask(project.id, which, object.colour));
  }

  /**
   * The mask to show now, and no older one in its place.
   * @param {import("./types.js").ObjectMessage} object
   * @param {Axis} axis
   * @param {number} index
   */
  latest(object, axis, index) {
    const { project } = get();
    const which = chooseMask(object, axis, index);
    if (which === null || project === null) return null;
    return this.masks.values.get(keysOf(project.id, object, which).key) ?? null;
  }

  /**
   * Fetches the mask that would be shown now, whatever is shown by then.
   * @param {import("./types.js").ObjectMessage} object
   * @param {Axis} axis
   * @param {number} index
   * @returns {(() => Promise<Uint8Array>) | null} null if there is none
   */
  loader(object, axis, index) {
    const { project } = get();
    const which = chooseMask(object, axis, index);
    if (which === null || project === null) return null;
    return async () => (await fetchMask(project.id, which, object.colour)).mask;
  }

  /**
   * Take over a mask that was painted here and is now the server's.
   * @param {string} name
   * @param {{axis: Axis, index: number, width: number}} where
   * @param {Uint8Array} mask
   */
  know(name, { axis, index, width }, mask) {
    const { project } = get();
    const object = project?.objects.find((other) => other.name === name);
    const which = object ? chooseMask(object, axis, index) : null;
    if (project === null || object === undefined || which === null) return;
    const { place, key } = keysOf(project.id, object, which);
    const drawn = drawMask(mask, width, object.colour, which.rough);
    this.masks.values.set(key, drawn);
    this.stale.set(place, drawn);
  }

  /**
   * Have the masks of neighbouring frames at hand, unless they may be but a preview.
   * @param {import("./types.js").ObjectMessage[]} objects
   * @param {number} frame
   */
  prefetch(objects, frame) {
    const { project } = get();
    if (project === null || (activeRun()?.state === "running" && !project.live.on)) return;
    // Those asked for last come first: the nearest.
    for (const step of [3, -1, 2, 1]) {
      const other = frame + step;
      if (other >= 0 && other < project.frames) for (const object of objects) this.of(object, 0, other);
    }
  }

  /**
   * Probabilities of an object on a plane as colours.
   * @param {import("./types.js").ObjectMessage} object
   * @param {Axis} axis
   * @param {number} index
   */
  heatOf(object, axis, index) {
    const run = shownRun();
    const { project } = get();
    if (run === null || project === null) return null;
    const address = probabilityAddress(project.id, run.id, { axis, index, number: object.number });
    return this.heats.take(address, () => fetchHeat(address));
  }
}

/**
 * Which mask the server shows now; what is drawn by hand on this page is known here first.
 * @param {import("./types.js").ObjectMessage} object
 * @param {Axis} axis
 * @param {number} index
 * @returns {Which | null}
 */
function chooseMask(object, axis, index) {
  const { project } = get();
  if (project === null) return null;
  const { view, shown } = project.live;
  const present = { run: null, number: object.number, axis, index, rough: false };
  // A plane across the frames goes through frames that were drawn and through others.
  const drawn = axis === 0 ? object.brushed.includes(index) : object.brushed.length > 0;
  const changed = drawn ? `drawn ${project.version}` : "";
  if (drawn && axis === 0) return { ...present, version: changed };
  if (axis === 0 && view?.frame === index && view.objects.includes(object.name)) {
    // As it will be among all: it need not be fetched again then.
    return { ...present, version: `${view.stamp} `, rough: view.rough.includes(object.name) };
  }
  const whose = shown[object.name];
  if (whose !== undefined) return { ...present, version: `${whose.stamp} ${changed}`, rough: whose.rough };
  return drawn ? { ...present, version: changed } : null;
}

/** Whether the mask shown comes from the image alone. @param {import("./types.js").ObjectMessage} object @param {number} frame */
export const isRough = (object, frame) => chooseMask(object, 0, frame)?.rough ?? false;

/** @param {string} id @param {Which} which @param {string} colour @returns {Promise<DrawnMask>} */
async function fetchMask(id, which, colour) {
  const { size, runs } = await readMask(id, which);
  return drawMask(decodeRuns(runs, size[0] * size[1]), size[1], colour, which.rough);
}

/**
 * @param {Uint8Array} mask
 * @param {number} width
 * @param {string} colour
 * @param {boolean} rough
 * @returns {DrawnMask}
 */
export function drawMask(mask, width, colour, rough = false) {
  const picture = document.createElement("canvas");
  picture.width = width;
  picture.height = mask.length / width;
  context2d(picture).putImageData(colourMask(mask, width, colour), 0, 0);
  const edges = new Path2D();
  for (const [[y, x], ...others] of joinEdges(outline(mask, width))) {
    edges.moveTo(x, y);
    for (const [down, right] of others) edges.lineTo(right, down);
  }
  return { mask, width, picture, edges, rough };
}

/** @param {string} address @returns {Promise<HTMLCanvasElement>} */
async function fetchHeat(address) {
  const picture = await createImageBitmap(await (await ask(address)).blob());
  const canvas = document.createElement("canvas");
  canvas.width = picture.width;
  canvas.height = picture.height;
  const context = context2d(canvas);
  context.drawImage(picture, 0, 0);
  picture.close();
  const image = context.getImageData(0, 0, canvas.width, canvas.height);
  colourHeat(image);
  context.putImageData(image, 0, 0);
  return canvas;
}
