/** How far apart are two places? A drag measures, and the line stays until the next. */

import { announce } from "./notices.js";
import { openProject } from "./store.js";

/** @typedef {{y: number, x: number}} Position */
/** @typedef {import("./stage.js").Stage} Stage */

/** @type {{axis: number, index: number, from: Position, to: Position} | null} */
let measured = null;
let measuring = false;

/** @type {import("./tools.js").Tool} */
export const rulerTool = {
  cursor: "crosshair",
  byKeys: true,
  press(pointer, stage) {
    measured = { axis: stage.axis, index: stage.index, from: pointer.position, to: pointer.position };
    measuring = true;
    stage.draw();
  },
  drag(pointer, stage) {
    if (measured === null || !measuring) return;
    measured.to = pointer.position;
    stage.draw();
  },
  release(pointer, stage) {
    if (measured === null) return;
    measured.to = pointer.position;
    measuring = false;
    stage.draw();
    announce(`Distance: ${lengthInWords(stage)}.`);
  },
  abandon() {
    measured = null;
    measuring = false;
  },
  draw(context, stage) {
    if (measured === null || measured.axis !== stage.axis || measured.index !== stage.index) return;
    const [from, to] = [stage.toScreen(measured.from), stage.toScreen(measured.to)];
    context.save();
    for (const [width, colour] of /** @type {const} */ ([
      [4, "rgba(0, 0, 0, 0.7)"],
      [1.75, "#ffe14d"],
    ])) {
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.beginPath();
      context.moveTo(from.x, from.y);
      context.lineTo(to.x, to.y);
      context.stroke();
    }
    const words = lengthInWords(stage);
    stage.canvas.dataset.distance = words;
    context.font = "600 13px system-ui, sans-serif";
    context.lineWidth = 4;
    context.strokeStyle = "rgba(0, 0, 0, 0.8)";
    context.fillStyle = "#ffe14d";
    context.strokeText(words, to.x + 10, to.y - 8);
    context.fillText(words, to.x + 10, to.y - 8);
    context.restore();
  },
};

/** @param {Stage} stage */
function lengthInWords(stage) {
  const { plane } = stage;
  if (measured === null || plane === null) return "";
  const { spacing_mm: spacing } = openProject();
  const [down, right] = spacing === null ? [1, 1] : [spacing[plane.rows], spacing[plane.columns]];
  const length = Math.hypot((measured.to.y - measured.from.y) * down, (measured.to.x - measured.from.x) * right);
  return `${length.toFixed(1)} ${spacing === null ? "pixels" : "mm"}`;
}
