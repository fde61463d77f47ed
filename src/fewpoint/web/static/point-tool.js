/** How are points set, moved and taken away? */

import { isPending } from "./foresight.js";
import { announce, tell } from "./notices.js";
import { act } from "./session.js";
import { currentObject, get, openProject, set } from "./store.js";
import { pan } from "./view.js";

/** @typedef {import("./types.js").PointMessage} Point */
/** @typedef {import("./tools.js").Pointer} Pointer */

const REACH = 11;
const DRAG_STARTS = 4;

/** Where the press began that will set a new point if it stays there: a drag moves the image and sets none. */
/** @type {{y: number, x: number} | null} */
let adding = null;
/** Where a drag that moves the image was last. @type {{y: number, x: number} | null} */
let panned = null;
/**
 * The point that is held, and where it was taken.
 * @type {{point: Point, from: {y: number, x: number}, moved: boolean} | null}
 */
let held = null;
/** Where a held point is drawn until the server knows. @type {(import("./crosshair.js").Place & {id: number}) | null} */
let dragged = null;

/** Where a point is to be drawn. @param {Point} point @returns {import("./crosshair.js").Place} */
export function shownPlace(point) {
  return dragged?.id === point.id ? dragged : point;
}

/**
 * The point of the current object near a place on the screen.
 * @param {{y: number, x: number}} screen
 * @param {import("./stage.js").Stage} stage
 */
function pointNear(screen, stage) {
  const object = currentObject();
  const distance = (/** @type {Point} */ point) => {
    const centre = stage.centreOf(stage.pixelOf(point));
    return Math.hypot(centre.x - screen.x, centre.y - screen.y);
  };
  const near = object === null ? [] : stage.pointsOf(object).filter((point) => distance(point) <= REACH);
  return near.sort((one, other) => distance(one) - distance(other))[0] ?? null;
}

/** @param {boolean} positive @returns {import("./tools.js").Tool} */
export function pointTool(positive) {
  return {
    cursor: "crosshair",
    press(pointer, stage) {
      const point = pointNear(pointer.screen, stage);
      adding = point === null && pointer.inside ? pointer.screen : null;
      panned = null;
      // A point that the server does not know yet cannot be held: a double click leaves it where it is.
      if (point !== null && !isPending(point)) held = { point, from: pointer.screen, moved: false };
    },
    drag(pointer, stage) {
      if (held === null) return dragImage(pointer, stage);
      const { from, point } = held;
      held.moved ||= Math.hypot(pointer.screen.x - from.x, pointer.screen.y - from.y) > DRAG_STARTS;
      if (held.moved) dragged = { id: point.id, ...pointer.place };
      stage.draw();
    },
    release(pointer) {
      if (adding !== null && panned === null) addPoint(pointer.place, pointer.other ? !positive : positive);
      adding = panned = null;
      if (held === null) return;
      const { moved, point } = held;
      held = null;
      if (moved) movePoint(point, pointer.place);
      else removePoint(point);
    },
    abandon() {
      adding = panned = null;
      held = null;
      dragged = null;
    },
    draw() {},
  };
}

/** @param {Pointer} pointer @param {import("./stage.js").Stage} stage */
function dragImage({ screen }, stage) {
  if (adding === null) return;
  if (panned === null && Math.hypot(screen.x - adding.x, screen.y - adding.y) <= DRAG_STARTS) return;
  const from = panned ?? adding;
  panned = screen;
  stage.look(pan(stage.view, screen.x - from.x, screen.y - from.y));
}

/** @param {import("./crosshair.js").Place} place @param {boolean} positive */
async function addPoint({ frame, y, x }, positive) {
  const { object, stepping } = get();
  const kind = positive ? "Point" : "Background click";
  if (currentObject() === null) return tell("Add an object first, then click on it.");
  const accepted = act({ kind: "add_point", object, frame, y, x, positive });
  if (stepping && frame + 1 < openProject().frames) set({ frame: frame + 1 });
  if (await accepted) announce(`${kind} of ${object} added on frame ${frame}, row ${y}, column ${x}.`);
}

/** @param {Point} point @param {import("./crosshair.js").Place} place */
async function movePoint(point, { frame, y, x }) {
  const accepted = await act({ kind: "move_point", point: point.id, frame, y, x });
  if (accepted) announce(`Point moved to frame ${frame}, row ${y}, column ${x}.`);
  dragged = null;
}

/** @param {Point} point */
async function removePoint(point) {
  if (await act({ kind: "remove_point", point: point.id })) announce("Point removed.");
}
