/** How is the box drawn outside of which there is nothing of the object on a frame? */

import { announce, tell } from "./notices.js";
import { act } from "./session.js";
import { currentObject, get } from "./store.js";
import { toScreen } from "./view.js";

/** @typedef {import("./types.js").BoxMessage} Box */

/** @type {{from: {y: number, x: number}, to: {y: number, x: number}} | null} */
let drawn = null;

/** @type {import("./tools.js").Tool} */
export const boxTool = {
  cursor: "crosshair",
  byKeys: true,
  press(pointer, stage) {
    if (stage.axis !== 0) return tell("A box lies on a frame: draw it in the plane that the frames are in.");
    drawn = { from: pointer.pixel, to: pointer.pixel };
    stage.draw();
  },
  drag(pointer, stage) {
    if (drawn === null) return;
    drawn.to = pointer.pixel;
    stage.draw();
  },
  release(pointer, stage) {
    if (drawn === null) return;
    const box = spanned(drawn.from, pointer.pixel);
    drawn = null;
    stage.draw();
    // A box of one row or column is a slip of the hand.
    if (box.bottom - box.top < 2 || box.right - box.left < 2) return;
    setBox(box);
  },
  abandon() {
    drawn = null;
  },
  draw(context, stage) {
    if (drawn === null || stage.axis !== 0) return;
    strokeBox(context, stage.view, spanned(drawn.from, drawn.to), currentObject()?.colour ?? "#ffffff");
  },
};

/**
 * The box from pixel to pixel, both within; bottom and right are the first row and column outside.
 * @param {{y: number, x: number}} one
 * @param {{y: number, x: number}} other
 */
function spanned(one, other) {
  return {
    top: Math.min(one.y, other.y),
    left: Math.min(one.x, other.x),
    bottom: Math.max(one.y, other.y) + 1,
    right: Math.max(one.x, other.x) + 1,
  };
}

/** @param {Omit<Box, "frame" | "share">} box */
async function setBox(box) {
  const { frame, object } = get();
  if (currentObject() === null) return tell("Add an object first, then draw a box around it.");
  if (await act({ kind: "set_box", object, frame, ...box })) announce(`Box of ${object} set on frame ${frame}.`);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./view.js").View} view
 * @param {Omit<Box, "frame" | "share">} box
 * @param {string} colour
 */
export function strokeBox(context, view, box, colour) {
  const start = toScreen(view, { y: box.top, x: box.left });
  const end = toScreen(view, { y: box.bottom, x: box.right });
  const sides = /** @type {const} */ ([start.x, start.y, end.x - start.x, end.y - start.y]);
  context.save();
  context.lineWidth = 3.5;
  context.strokeStyle = "rgba(0, 0, 0, 0.55)";
  context.strokeRect(...sides);
  context.lineWidth = 1.5;
  context.setLineDash([7, 5]);
  context.strokeStyle = colour;
  context.strokeRect(...sides);
  context.restore();
}
