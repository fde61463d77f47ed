/** How is a line drawn by hand taken: as the outline of a part of the mask, or as points along it? */

import { announce, tell } from "./notices.js";
import { act } from "./session.js";
import { sendMask } from "./brush-tool.js";
import { currentObject, get } from "./store.js";

/** @typedef {{y: number, x: number}} Position */

/** Screen pixels between the points of a scribble. */
const APART = 24;

/** @type {{positions: Position[], screens: Position[], order: number} | null} */
let line = null;

/**
 * @param {"lasso" | "scribble"} kind
 * @returns {import("./tools.js").Tool}
 */
export function lineTool(kind) {
  return {
    cursor: "crosshair",
    press(pointer, stage) {
      if (currentObject() === null) return tell("Add an object first.");
      line = { positions: [pointer.position], screens: [pointer.screen], order: stage.order };
    },
    drag(pointer, stage) {
      if (line === null) return;
      line.positions.push(pointer.position);
      line.screens.push(pointer.screen);
      stage.draw();
    },
    release(pointer, stage) {
      const drawn = line;
      line = null;
      stage.draw();
      if (drawn === null) return;
      if (kind === "scribble") setPoints(drawn, stage, !pointer.other);
      else if (drawn.positions.length > 2) fillLine(drawn.positions, stage, pointer.other ? 0 : 1);
    },
    abandon() {
      line = null;
    },
    draw(context, stage) {
      if (line === null || line.order !== stage.order) return;
      context.save();
      for (const [width, colour] of /** @type {const} */ ([
        [4, "rgba(0, 0, 0, 0.6)"],
        [1.75, "#ffffff"],
      ])) {
        context.lineWidth = width;
        context.strokeStyle = colour;
        context.beginPath();
        for (const { x, y } of line.screens) context.lineTo(x, y);
        if (kind === "lasso") context.closePath();
        context.stroke();
      }
      context.restore();
    },
  };
}

/**
 * Points along a line, as far apart as a person would click.
 * @param {{positions: Position[], screens: Position[]}} drawn
 * @param {import("./stage.js").Stage} stage
 * @param {boolean} positive
 */
async function setPoints({ screens }, stage, positive) {
  /** @type {Position[]} */
  const kept = [];
  for (const screen of screens) {
    const last = kept.at(-1);
    if (last === undefined || Math.hypot(screen.x - last.x, screen.y - last.y) >= APART) kept.push(screen);
  }
  const inside = kept.map((screen) => stage.pointerAt(screen, false)).filter((pointer) => pointer.inside);
  const places = inside.map(({ place: { frame, y, x } }) => /** @type {[number, number, number]} */ ([frame, y, x]));
  if (places.length === 0) return;
  const { object } = get();
  if (await act({ kind: "add_points", object, places, positive })) announce(`${places.length} points of ${object} added.`);
}

/**
 * Add what a line goes round to the mask, or take it away.
 * @param {Position[]} positions
 * @param {import("./stage.js").Stage} stage
 * @param {0 | 1} value
 */
function fillLine(positions, stage, value) {
  sendMask(stage, (mask) => fillPolygon(mask, stage.where.width, positions, value));
}

/**
 * Set the pixels whose middle lies inside a closed line.
 * @param {Uint8Array} mask  changed in place
 * @param {number} width
 * @param {Position[]} corners
 * @param {0 | 1} value
 */
export function fillPolygon(mask, width, corners, value) {
  const height = mask.length / width;
  for (let row = 0; row < height; row += 1) {
    const y = row + 0.5;
    /** @type {number[]} */
    const crossings = [];
    corners.forEach((from, index) => {
      const to = corners[(index + 1) % corners.length];
      if (from.y <= y !== to.y <= y) crossings.push(from.x + ((y - from.y) / (to.y - from.y)) * (to.x - from.x));
    });
    crossings.sort((one, other) => one - other);
    for (let pair = 0; pair + 1 < crossings.length; pair += 2) {
      const first = Math.max(0, Math.ceil(crossings[pair] - 0.5));
      const last = Math.min(width - 1, Math.ceil(crossings[pair + 1] - 0.5) - 1);
      if (last >= first) mask.fill(value, row * width + first, row * width + last + 1);
    }
  }
}
