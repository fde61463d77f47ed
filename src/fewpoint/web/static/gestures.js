/** What do mouse, pen and fingers on the image do, and keys in their stead? */

import { tell } from "./notices.js";
import { moveTo, stepAlong } from "./crosshair.js";
import { get, set } from "./store.js";
import { TOOLS } from "./tools.js";
import { nearestPixel, stepInImage } from "./view.js";

/** @typedef {import("./stage.js").Stage} Stage */
/** @typedef {import("./store.js").ToolName} ToolName */
/** @typedef {import("./tools.js").Pointer} Pointer */

/** Pixels of the wheel for a frame. */
const WHEEL_STEP = 60;
const ZOOM_RATE = 0.0022;
/** The pointer that keys are. */
const KEYS = -1;

export class Gestures {
  /** @param {Stage} stage */
  constructor(stage) {
    this.stage = stage;
    /** @type {{tool: ToolName, id: number} | null} the drag that goes on */
    this.drag = null;
    /** @type {Map<number, {x: number, y: number}>} fingers on the image */
    this.fingers = new Map();
    this.wheelRest = 0;
    const { canvas } = stage;
    canvas.addEventListener("pointerdown", (event) => this.pointerDown(event));
    canvas.addEventListener("pointermove", (event) => this.pointerMove(event));
    canvas.addEventListener("pointerup", (event) => this.pointerUp(event));
    canvas.addEventListener("pointercancel", (event) => this.pointerCancel(event));
    canvas.addEventListener("pointerleave", () => this.setPointer(null, false));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  /** @param {PointerEvent | WheelEvent} event @returns {Pointer} */
  locate(event) {
    const bounds = this.stage.canvas.getBoundingClientRect();
    return this.stage.pointerAt({ x: event.clientX - bounds.left, y: event.clientY - bounds.top }, event.altKey);
  }

  /** @param {Pointer | null} pointer @param {boolean} follow  whether the crosshair goes along */
  setPointer(pointer, follow) {
    const drawsPointer = get().tool === "brush" || get().tool === "eraser";
    this.stage.pointer = pointer;
    set({ pointed: pointer?.inside ? pointer.place : null });
    if (pointer?.inside && follow && !get().keyboardCursor) moveTo(pointer.place);
    if (drawsPointer) this.stage.draw();
  }

  /**
   * The tool of a mouse button: the middle one moves, the right one changes the window.
   * @param {number} button
   * @returns {ToolName}
   */
  toolOf(button) {
    if (button === 1) return "pan";
    if (button === 2) return get().window === null ? "pan" : "window";
    return get().tool;
  }

  /** @param {PointerEvent} event */
  pointerDown(event) {
    if (get().project === null) return;
    this.stage.canvas.focus({ preventScroll: true });
    this.stage.canvas.setPointerCapture(event.pointerId);
    if (event.pointerType === "touch") this.fingers.set(event.pointerId, this.locate(event).screen);
    if (this.fingers.size > 1) return this.abandon();
    const tool = this.toolOf(event.button);
    if (!this.stage.isSeen && tool !== "pan" && tool !== "window") return tell("This frame is still on its way.");
    set({ playing: false, keyboardCursor: false });
    this.drag = { tool, id: event.pointerId };
    const pointer = this.locate(event);
    if (tool !== "pan" && tool !== "window" && pointer.inside) moveTo(pointer.place);
    TOOLS[tool].press(pointer, this.stage);
  }

  /** @param {PointerEvent} event */
  pointerMove(event) {
    const pointer = this.locate(event);
    if (this.fingers.size > 1) return this.pinch(event.pointerId, pointer.screen);
    this.setPointer(pointer, event.shiftKey && this.drag === null);
    if (this.drag?.id === event.pointerId) TOOLS[this.drag.tool].drag(pointer, this.stage);
  }

  /** @param {PointerEvent} event */
  pointerUp(event) {
    this.fingers.delete(event.pointerId);
    if (this.drag?.id !== event.pointerId) return;
    const { tool } = this.drag;
    this.drag = null;
    TOOLS[tool].release(this.locate(event), this.stage);
  }

  /** @param {PointerEvent} event */
  pointerCancel(event) {
    this.fingers.delete(event.pointerId);
    this.abandon();
  }

  abandon() {
    if (this.drag !== null) TOOLS[this.drag.tool].abandon();
    this.drag = null;
    this.stage.draw();
  }

  /** Two fingers move the image and zoom it. @param {number} id @param {{x: number, y: number}} to */
  pinch(id, to) {
    const from = this.fingers.get(id);
    const fixed = [...this.fingers].find(([other]) => other !== id)?.[1];
    if (from === undefined || fixed === undefined) return;
    const distance = (/** @type {{x: number, y: number}} */ finger) =>
      Math.hypot(finger.x - fixed.x, finger.y - fixed.y);
    this.fingers.set(id, to);
    this.stage.zoom(distance(to) / Math.max(1, distance(from)), fixed);
  }

  /**
   * The wheel goes through the frames, or the planes that it is over; with Ctrl, which a pinch on a touchpad sends too, it zooms.
   * @param {WheelEvent} event
   */
  wheel(event) {
    if (get().project === null) return;
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1);
    if (event.ctrlKey || event.metaKey)
      return this.stage.zoom(Math.exp(-pixels * ZOOM_RATE), this.locate(event).screen);
    this.wheelRest += pixels;
    const steps = Math.trunc(this.wheelRest / WHEEL_STEP);
    this.wheelRest -= steps * WHEEL_STEP;
    set({ playing: false });
    stepAlong(this.stage.axis, steps);
  }

  /** Do with the current tool, at the keyboard's cursor, what the mouse would do there. @param {boolean} other */
  pressByKey(other) {
    if (!this.stage.isSeen) return tell("This frame is still on its way.");
    const { tool: name } = get();
    const tool = TOOLS[name];
    const pointer = this.stage.pointerAt(this.stage.centreOf(this.stage.cursorPixel), other);
    if (this.drag === null) {
      tool.press(pointer, this.stage);
      this.drag = { tool: name, id: KEYS };
      if (tool.byKeys) return;
    }
    this.drag = null;
    tool.release(pointer, this.stage);
  }

  /** Move the keyboard's cursor, as seen on the screen, and what it drags. @param {number} down @param {number} right */
  moveCursor(down, right) {
    const from = this.stage.cursorPixel;
    const step = stepInImage(this.stage.view.turn, { y: down, x: right });
    const pixel = nearestPixel({ y: from.y + step.y, x: from.x + step.x }, this.stage.image);
    moveTo(this.stage.placeOf(pixel));
    if (this.drag?.id === KEYS)
      TOOLS[this.drag.tool].drag(this.stage.pointerAt(this.stage.centreOf(pixel), false), this.stage);
  }
}
