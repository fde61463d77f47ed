/** How are the last pixels painted and rubbed out? */

import { drawMask } from "./masks.js";
import { announce, tell } from "./notices.js";
import { encodeRuns, paintStroke } from "./pixels.js";
import { act } from "./session.js";
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
 * @property {number} frame
 */

/** @type {Stroke | null} */
let stroke = null;

/**
 * The mask being painted, in place of the one that the server knows.
 * @param {import("./types.js").ObjectMessage} object
 * @param {number} frame
 */
export function paintedMask(object, frame) {
  if (stroke === null || !isPainted(object, frame)) return null;
  return drawMask(stroke.mask, openProject().width, object.colour);
}

/** @param {import("./types.js").ObjectMessage} object @param {number} frame */
function isPainted(object, frame) {
  return stroke !== null && stroke.object === object.name && stroke.frame === frame;
}

/** @param {0 | 1} value @returns {import("./tools.js").Tool} */
export function brushTool(value) {
  return {
    cursor: "none",
    press(pointer, stage) {
      const object = currentObject();
      if (object === null) return;
      const { frame } = get();
      const { height, width } = openProject();
      // The stroke before may not have reached the server yet, nor the mask have come from there.
      const before = isPainted(object, frame) ? stroke : null;
      const known = before?.mask ?? stage.masks.latest(object, frame)?.mask;
      const seen = known ?? stage.masks.of(object, frame)?.mask;
      const mask = seen?.slice() ?? new Uint8Array(height * width);
      const under = before ? before.under : known ? null : stage.masks.loader(object, frame);
      const segments = before?.segments.slice() ?? [];
      stroke = { mask, under, segments, last: pointer.position, object: object.name, frame };
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
      const { object, frame } = ended;
      const { width } = openProject();
      let mask = ended.mask;
      const accepted = await act({ kind: "brush", object, frame, runs: encodeRuns(mask) }, async (action) => {
        if (ended.under === null) return action;
        mask = (await ended.under()).slice();
        for (const segment of ended.segments) paintSegment(mask, width, segment);
        return { ...action, runs: encodeRuns(mask) };
      });
      if (accepted) stage.masks.know(object, frame, mask);
      if (stroke === ended) stroke = null;
      stage.draw();
      if (accepted) announce(`Mask of ${object} changed by hand on frame ${frame + 1}.`);
    },
    abandon() {
      stroke = null;
    },
    draw(context, stage) {
      if (stage.pointer === null && !get().keyboardCursor) return;
      const { cursor, brushRadius } = get();
      const centre = stage.pointer?.screen ?? stage.centreOf(cursor);
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

/** Say that the mask shown of the current object on this frame is right. @param {import("./stage.js").Stage} stage */
export async function acceptFrame(stage) {
  const object = currentObject();
  if (object === null) return;
  const { frame } = get();
  const mask = stage.masks.of(object, frame)?.mask;
  if (mask === undefined) return tell("There is no mask of it on this frame yet. Click on it, or paint it.");
  if (await act({ kind: "brush", object: object.name, frame, runs: encodeRuns(mask) })) {
    stage.masks.know(object.name, frame, mask);
    stage.draw();
    announce(`Mask of ${object.name} on frame ${frame + 1} is taken as right.`);
  }
}

/** @param {Pointer} pointer @param {0 | 1} value */
function paintTo(pointer, value) {
  if (stroke === null) return;
  const segment = { from: stroke.last, to: pointer.position, radius: get().brushRadius, value };
  paintSegment(stroke.mask, openProject().width, segment);
  stroke.segments.push(segment);
  stroke.last = pointer.position;
}

/** @param {Uint8Array} mask @param {number} width @param {Segment} segment */
function paintSegment(mask, width, { from, to, radius, value }) {
  paintStroke(mask, width, from, to, { radius, value });
}
