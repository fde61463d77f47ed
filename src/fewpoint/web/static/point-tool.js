/** How are points set, moved and taken away? */

import { isPending } from "./foresight.js";
import { announce, tell } from "./notices.js";
import { act } from "./session.js";
import { currentObject, get, openProject, set } from "./store.js";
import { pixelCentre } from "./view.js";

/** @typedef {import("./types.js").PointMessage} Point */
/** @typedef {import("./tools.js").Pointer} Pointer */

const REACH = 11;
const DRAG_STARTS = 4;

/** Whether the press that goes on will set a new point where it ends. */
let adding = false;
/**
 * The point that is held, and where it was taken.
 * @type {{point: Point, from: {y: number, x: number}, moved: boolean} | null}
 */
let held = null;
/** Where a held point is drawn until the server knows. @type {{id: number, y: number, x: number} | null} */
let dragged = null;

/** Where a point is to be drawn. @param {Point} point @returns {{y: number, x: number}} */
export function shownPlace(point) {
  return dragged?.id === point.id ? dragged : point;
}

/**
 * The point of the current object near a place on the screen.
 * @param {{y: number, x: number}} screen
 * @param {import("./stage.js").Stage} stage
 */
function pointNear(screen, stage) {
  const { frame } = get();
  const distance = (/** @type {Point} */ point) => {
    const centre = pixelCentre(stage.view, point);
    return Math.hypot(centre.x - screen.x, centre.y - screen.y);
  };
  const near = (currentObject()?.points ?? []).filter((point) => point.frame === frame && distance(point) <= REACH);
  return near.sort((one, other) => distance(one) - distance(other))[0] ?? null;
}

/** @param {boolean} positive @returns {import("./tools.js").Tool} */
export function pointTool(positive) {
  return {
    cursor: "crosshair",
    press(pointer, stage) {
      const point = pointNear(pointer.screen, stage);
      adding = point === null && pointer.inside;
      // A point that the server does not know yet cannot be held: a double click leaves it where it is.
      if (point !== null && !isPending(point)) held = { point, from: pointer.screen, moved: false };
    },
    drag(pointer, stage) {
      if (held === null) return;
      const { from, point } = held;
      held.moved ||= Math.hypot(pointer.screen.x - from.x, pointer.screen.y - from.y) > DRAG_STARTS;
      if (held.moved) dragged = { id: point.id, ...pointer.pixel };
      stage.draw();
    },
    release(pointer) {
      if (adding) addPoint(pointer.pixel, pointer.other ? !positive : positive);
      adding = false;
      if (held === null) return;
      const { moved, point } = held;
      held = null;
      if (moved) movePoint(point, pointer.pixel);
      else removePoint(point);
    },
    abandon() {
      adding = false;
      held = null;
      dragged = null;
    },
    draw() {},
  };
}

/** @param {{y: number, x: number}} pixel @param {boolean} positive */
async function addPoint({ y, x }, positive) {
  const { frame, object, stepping } = get();
  const kind = positive ? "Point" : "Negative point";
  if (currentObject() === null) return tell("Add an object first, then click on it.");
  const accepted = act({ kind: "add_point", object, frame, y, x, positive });
  if (stepping && frame + 1 < openProject().frames) set({ frame: frame + 1 });
  if (await accepted) announce(`${kind} of ${object} added on frame ${frame + 1}, row ${y}, column ${x}.`);
}

/** @param {Point} point @param {{y: number, x: number}} pixel */
async function movePoint(point, { y, x }) {
  if (await act({ kind: "move_point", point: point.id, y, x })) announce(`Point moved to row ${y}, column ${x}.`);
  dragged = null;
}

/** @param {Point} point */
async function removePoint(point) {
  if (await act({ kind: "remove_point", point: point.id })) announce("Point removed.");
}
