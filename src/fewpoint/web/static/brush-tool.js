/** How are the last pixels painted and rubbed out? */

import { sendEdit, sendStroke } from "./api.js";
import { drawMask } from "./masks.js";
import { announce, tell } from "./notices.js";
import { encodeRuns, paintStroke } from "./pixels.js";
import { act, request } from "./session.js";
import { currentObject, get, openProject } from "./store.js";

/** @typedef {import("./tools.js").Pointer} Pointer */

/** @typedef {{from: {y: number, x: number}, to: {y: number, x: number}, radius: number, value: 0 | 1}} Segment */

/**
 * What is being painted: the mask as it is shown, and what was painted on it so far.
 * @typedef {object} Stroke
 * @property {Uint8Array} mask
 * @property {(() => Promise<Uint8Array>) | null} under  fetches the mask painted on, if it had not come yet
 * @property {Segment[]} segments
 * @property {{y: number, x: number}} last  where the brush was last
 * @property {string} object
 * @property {Where} where
 */

/** A plane of the volume. @typedef {{axis: import("./anatomy.js").Axis, index: number, width: number, height: number}} Where */

/** @type {Stroke | null} */
let stroke = null;

/**
 * The mask being painted, in place of the one that the server knows.
 * @param {import("./types.js").ObjectMessage} object
 * @param {Where} where
 */
export function paintedMask(object, where) {
  if (stroke === null || !isPainted(object, where)) return null;
  return drawMask(stroke.mask, stroke.where.width, object.colour);
}

/** @param {import("./types.js").ObjectMessage} object @param {Where} where */
function isPainted(object, { axis, index }) {
  return stroke !== null && stroke.object === object.name && stroke.where.axis === axis && stroke.where.index === index;
}

/** @param {0 | 1} value @returns {import("./tools.js").Tool} */
export function brushTool(value) {
  return {
    cursor: "none",
    press(pointer, stage) {
      const object = currentObject();
      if (object === null) return;
      const where = stage.where;
      // The stroke before may not have reached the server yet, nor the mask have come from there.
      const before = isPainted(object, where) ? stroke : null;
      const known = before?.mask ?? stage.masks.latest(object, where.axis, where.index)?.mask;
      const seen = known ?? stage.masks.of(object, where.axis, where.index)?.mask;
      const mask = seen?.slice() ?? new Uint8Array(where.height * where.width);
      const under = before ? before.under : known ? null : stage.masks.loader(object, where.axis, where.index);
      const segments = before?.segments.slice() ?? [];
      stroke = { mask, under, segments, last: pointer.position, object: object.name, where };
      paintTo(pointer, value);
      stage.draw();
    },
    drag(pointer, stage) {
      if (stroke === null) return;
      paintTo(pointer, value);
      stage.draw();
    },
    async release(_pointer, stage) {
      const ended = stroke;
      if (ended === null) return;
      const { object, where } = ended;
      if (get().ball) return releaseBall(ended, stage);
      let mask = ended.mask;
      const accepted = await sendPainted(ended, async () => {
        if (ended.under === null) return mask;
        mask = (await ended.under()).slice();
        for (const segment of ended.segments) paintSegment(mask, where.width, segment);
        return mask;
      });
      if (accepted) stage.masks.know(object, where, mask);
      if (stroke === ended) stroke = null;
      stage.draw();
      if (accepted) announce(`Mask of ${object} changed by hand.`);
    },
    abandon() {
      stroke = null;
    },
    draw(context, stage) {
      if (stage.pointer === null && !(get().keyboardCursor && stage.isLarge)) return;
      const { brushRadius } = get();
      const centre = stage.pointer?.screen ?? stage.centreOf(stage.cursorPixel);
      const { zoom, aspect } = stage.view;
      for (const [width, colour] of /** @type {const} */ ([
        [3, "rgba(0, 0, 0, 0.6)"],
        [1.25, "#ffffff"],
      ])) {
        context.lineWidth = width;
        context.strokeStyle = colour;
        context.beginPath();
        context.ellipse(centre.x, centre.y, brushRadius * zoom, brushRadius * zoom * aspect, 0, 0, 2 * Math.PI);
        context.stroke();
      }
    },
  };
}

/**
 * A stroke of a ball: the server paints it through the volume.
 * @param {Stroke} ended
 * @param {import("./stage.js").Stage} stage
 */
async function releaseBall(ended, stage) {
  const { object, segments } = ended;
  const { rows, columns, axis } = stage.plane ?? { rows: 1, columns: 2, axis: 0 };
  const places = [segments[0].from, ...segments.map((segment) => segment.to)].map(({ y, x }) => {
    const place = [0, 0, 0];
    place[axis] = ended.where.index;
    // Pixels count from their middle there.
    place[rows] = y - 0.5;
    place[columns] = x - 0.5;
    return place;
  });
  const step = Math.max(1, Math.ceil(places.length / 200));
  const thinned = places.filter((_, index) => index % step === 0 || index === places.length - 1);
  const { radius, value } = segments[0];
  const what = { object, edit: "ball", frame: ended.where.axis === 0 ? ended.where.index : 0, value: radius, places: thinned, erase: value === 0 };
  const accepted = await request((id) => sendEdit(id, what));
  if (stroke === ended) stroke = null;
  stage.draw();
  if (accepted) announce(`Mask of ${object} changed by hand through the volume.`);
}

/**
 * Change the mask of the current object on a plane by a function.
 * @param {import("./stage.js").Stage} stage
 * @param {(mask: Uint8Array) => void} change
 */
export async function sendMask(stage, change) {
  const object = currentObject();
  if (object === null) return;
  const { where } = stage;
  const known = stage.masks.latest(object, where.axis, where.index)?.mask.slice();
  const load = known === undefined ? stage.masks.loader(object, where.axis, where.index) : null;
  let mask = known ?? new Uint8Array(where.width * where.height);
  if (load === null) change(mask);
  const painted = { mask, under: null, segments: [], last: { y: 0, x: 0 }, object: object.name, where };
  const accepted = await sendPainted(painted, async () => {
    if (load === null) return mask;
    mask = (await load()).slice();
    change(mask);
    return mask;
  });
  if (accepted) stage.masks.know(object.name, where, mask);
  stage.draw();
}

/**
 * A frame is drawn as a whole; in a plane across the frames the server finds out which of them have changed.
 * @param {Stroke} painted
 * @param {() => Promise<Uint8Array>} complete
 */
function sendPainted({ object, where: { axis, index }, mask }, complete) {
  if (axis !== 0) {
    return request(async (id) => sendStroke(id, { object, axis, index, runs: encodeRuns(await complete()) }));
  }
  return act({ kind: "brush", object, frame: index, runs: encodeRuns(mask) }, async (action) => ({
    ...action,
    runs: encodeRuns(await complete()),
  }));
}

/** Say that the mask shown of the current object on this frame is right. @param {import("./stage.js").Stage} stage */
export async function acceptFrame(stage) {
  const object = currentObject();
  if (object === null) return;
  const { frame } = get();
  const mask = stage.masks.of(object, 0, frame)?.mask;
  if (mask === undefined) return tell("This frame has no mask yet. Click on it, or paint it.");
  if (await act({ kind: "brush", object: object.name, frame, runs: encodeRuns(mask) })) {
    stage.masks.know(object.name, { axis: 0, index: frame, width: openProject().width }, mask);
    stage.draw();
    announce(`Mask of ${object.name} on frame ${frame} is accepted.`);
  }
}

/** @param {Pointer} pointer @param {0 | 1} value */
function paintTo(pointer, value) {
  if (stroke === null) return;
  const segment = { from: stroke.last, to: pointer.position, radius: get().brushRadius, value };
  paintSegment(stroke.mask, stroke.where.width, segment);
  stroke.segments.push(segment);
  stroke.last = pointer.position;
}

/** @param {Uint8Array} mask @param {number} width @param {Segment} segment */
function paintSegment(mask, width, { from, to, radius, value }) {
  paintStroke(mask, width, from, to, { radius, value });
}
