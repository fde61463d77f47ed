/** How are the last pixels painted and rubbed out? */

import { drawMask } from "./masks.js";
import { announce, tell } from "./notices.js";
import { encodeRuns, paintStroke } from "./pixels.js";
import { act } from "./session.js";
import { activeRun, currentObject, get, openProject, shownRun } from "./store.js";

/** @typedef {import("./tools.js").Pointer} Pointer */

/**
 * What is being painted, and where the brush was last.
 * @type {{mask: Uint8Array, last: {y: number, x: number}, object: string, frame: number} | null}
 */
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
      if (shownRun() === null || activeRun() !== null)
        return tell("The brush is for the masks of a finished run. Run first.");
      const { frame } = get();
      const { height, width } = openProject();
      // The stroke before may not have reached the server yet.
      const known = isPainted(object, frame) ? stroke?.mask : stage.masks.of(object, frame)?.mask;
      const mask = known?.slice() ?? new Uint8Array(height * width);
      stroke = { mask, last: pointer.position, object: object.name, frame };
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
      const { mask, object, frame } = ended;
      const accepted = await act({ kind: "brush", object, frame, runs: encodeRuns(mask) });
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

/** @param {Pointer} pointer @param {0 | 1} value */
function paintTo(pointer, value) {
  if (stroke === null) return;
  paintStroke(stroke.mask, openProject().width, stroke.last, pointer.position, { radius: get().brushRadius, value });
  stroke.last = pointer.position;
}
