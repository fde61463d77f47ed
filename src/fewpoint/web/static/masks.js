/** Which mask lies over a frame, and how does it look? */

import { Unreachable, ask, probabilityAddress, readMask } from "./api.js";
import { context2d } from "./dom.js";
import { complain } from "./notices.js";
import { colourHeat, colourMask, decodeRuns, outline } from "./pixels.js";
import { activeRun, get, shownRun } from "./store.js";

const KEPT = 240;

/** @typedef {{mask: Uint8Array, width: number, picture: HTMLCanvasElement, edges: Path2D}} DrawnMask */
/** @typedef {{run: number, object: string, frame: number, preview: boolean, version: number}} Which */

/** What is known, oldest first; null while it is fetched or where there is none. @template Value */
class Shelf {
  constructor() {
    /** @type {Map<string, Value | null>} */
    this.values = new Map();
  }

  /**
   * What is there, or null and a fetch.
   * @param {string} key
   * @param {() => Promise<Value | null>} fetch
   * @param {() => void} onLoad
   */
  take(key, fetch, onLoad) {
    const known = this.values.get(key);
    if (known !== undefined) return known;
    this.values.set(key, null);
    if (this.values.size > KEPT) this.values.delete(/** @type {string} */ (this.values.keys().next().value));
    fetch().then(
      (value) => {
        this.values.set(key, value);
        onLoad();
      },
      (error) => {
        this.values.delete(key);
        if (!(error instanceof Unreachable)) complain(error);
      },
    );
    return null;
  }
}

/** Masks and probabilities of the open project, fetched as they are looked at. */
export class Masks {
  /** @param {() => void} onLoad */
  constructor(onLoad) {
    this.onLoad = onLoad;
    /** @type {Shelf<DrawnMask>} */
    this.masks = new Shelf();
    /** @type {Shelf<HTMLCanvasElement>} */
    this.heats = new Shelf();
    /** The last preview of each object and frame, shown until the next has come. @type {Map<string, DrawnMask>} */
    this.stale = new Map();
  }

  /**
   * The mask to show of an object on a frame.
   * @param {import("./types.js").ObjectMessage} object
   * @param {number} frame
   * @returns {DrawnMask | null}
   */
  of(object, frame) {
    const which = chooseMask(object, frame);
    if (which === null) return null;
    const { project } = get();
    if (project === null) return null;
    const key = JSON.stringify([project.id, object.colour, which]);
    const place = JSON.stringify([project.id, which.run, object.name, frame, object.colour]);
    const mask = this.masks.take(key, () => fetchMask(project.id, which, object.colour), this.onLoad);
    if (mask !== null) this.stale.set(place, mask);
    if (this.stale.size > KEPT) this.stale.delete(/** @type {string} */ (this.stale.keys().next().value));
    return mask ?? this.stale.get(place) ?? null;
  }

  /**
   * Probabilities of an object on a frame as colours.
   * @param {import("./types.js").ObjectMessage} object
   * @param {number} frame
   */
  heatOf(object, frame) {
    const run = shownRun();
    const { project } = get();
    if (run === null || project === null) return null;
    const address = probabilityAddress(project.id, run.id, frame, object.name);
    return this.heats.take(address, () => fetchHeat(address), this.onLoad);
  }
}

/** @param {import("./types.js").ObjectMessage} object @param {number} frame @returns {Which | null} */
function chooseMask(object, frame) {
  const { preview, project } = get();
  const active = activeRun();
  // The first preview of a run takes the place of the masks of the run before.
  if (active?.state === "running" && preview?.run === active.id) {
    return { run: active.id, object: object.name, frame, preview: true, version: preview.count };
  }
  const run = shownRun();
  if (run === null || project === null) return null;
  const version = object.brushed.includes(frame) ? project.version : 0;
  return { run: run.id, object: object.name, frame, preview: false, version };
}

/** @param {string} id @param {Which} which @param {string} colour @returns {Promise<DrawnMask | null>} */
async function fetchMask(id, which, colour) {
  const { size, runs } = await readMask(id, which);
  return drawMask(decodeRuns(runs, size[0] * size[1]), size[1], colour);
}

/** @param {Uint8Array} mask @param {number} width @param {string} colour @returns {DrawnMask} */
export function drawMask(mask, width, colour) {
  const picture = document.createElement("canvas");
  picture.width = width;
  picture.height = mask.length / width;
  context2d(picture).putImageData(colourMask(mask, width, colour), 0, 0);
  const edges = new Path2D();
  for (const [y0, x0, y1, x1] of outline(mask, width)) {
    edges.moveTo(x0, y0);
    edges.lineTo(x1, y1);
  }
  return { mask, width, picture, edges };
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
