/** What is seen of one plane: the frame, or a plane of the volume through the crosshair? */

import { planeOf } from "./anatomy.js";
import { strokeBox } from "./box-tool.js";
import { paintedMask } from "./brush-tool.js";
import { crosshair } from "./crosshair.js";
import { context2d, fitCanvas } from "./dom.js";
import { Fetching, addressOf } from "./frames.js";
import { complain } from "./notices.js";
import { Pictures } from "./pictures.js";
import { drawPoint } from "./point-marks.js";
import { shownPlace } from "./point-tool.js";
import { get, watch } from "./store.js";
import { TOOLS } from "./tools.js";
import { fitView, inImage, isInside, nearestPixel, onScreen, pixelCentre, shownSize, toImage, toScreen, zoomAt } from "./view.js";

/** @typedef {import("./tools.js").Pointer} Pointer */
/** @typedef {import("./anatomy.js").Axis} Axis */
/** @typedef {import("./crosshair.js").Place} Place */
/** @typedef {import("./types.js").ObjectMessage} Thing */

/** Beyond this many screen pixels for one of the image, pixels are shown as squares. */
const SMOOTH_UP_TO = 12;
/** How near a point must be to a plane across the frames to be seen in it, in pixels. */
const NEAR = 2;
const NO_TURN = { swap: false, flipX: false, flipY: false, width: 1, height: 1 };

/** A canvas, the view of a plane on it, and all that is drawn. */
export class Stage {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {0 | 1 | 2} order  0: the large one, 1 and 2: those of the other two planes
   * @param {import("./masks.js").Masks} masks
   */
  constructor(canvas, order, masks) {
    this.canvas = canvas;
    this.order = order;
    this.masks = masks;
    /** @type {import("./view.js").View} */
    this.view = { zoom: 1, aspect: 1, left: 0, top: 0, turn: NO_TURN };
    /** Whether the whole image is kept in sight when the page changes its size. */
    this.fitted = true;
    this.scheduled = false;
    /** The picture last drawn, kept in sight until the next has come. */
    this.shownAddress = "";
    this.shownKey = "";
    /** @type {Pointer | null} the mouse, while it is over the image */
    this.pointer = null;
    this.pictures = new Pictures({
      onLoad: (address) => address === this.address && this.draw(),
      onRefusal: complain,
    });
    this.fetching = new Fetching(this.pictures);
    this.hear();
  }

  hear() {
    new ResizeObserver(() => this.resized()).observe(this.canvas);
    let shown = "";
    watch(["project", "mainAxis"], (state) => {
      const plane = `${state.project?.id} ${this.axis}`;
      if (shown !== plane) this.fit();
      shown = plane;
    });
    watch(["project", "frame", "cursor", "mainAxis", "window", "online", "showPlanes"], () => this.fetch());
    watch(["project", "frame", "window", "tool", "object", "showMask", "showContour", "showHeat", "opacity"], () =>
      this.draw(),
    );
    watch(["brushRadius", "cursor", "keyboardCursor", "mainAxis", "showPlanes", "showCross", "compared", "hidden"], () =>
      this.draw(),
    );
  }

  /** The axis that the plane lies across. @returns {Axis} */
  get axis() {
    const { mainAxis } = get();
    return this.order === 0 ? mainAxis : otherAxes(mainAxis)[this.order - 1];
  }

  get isLarge() {
    return this.order === 0;
  }

  /** Which of the planes across the axis is shown. */
  get index() {
    return crosshair()[this.axis];
  }

  get plane() {
    const { project } = get();
    return project === null ? null : planeOf(project, this.axis);
  }

  /** The size of the stored plane. @returns {{width: number, height: number}} */
  get image() {
    const { width, height } = this.plane ?? { width: 1, height: 1 };
    return { width, height };
  }

  /** Which plane of the volume it is. */
  get where() {
    return { axis: this.axis, index: this.index, ...this.image };
  }

  get screen() {
    return { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
  }

  get address() {
    return addressOf(this.index, this.axis);
  }

  /** Whether the plane that is chosen is at hand with the grey values that are chosen. */
  get ready() {
    return this.pictures.peek(this.address) !== null;
  }

  /** Which plane of which input it is, whatever its grey values. */
  get planeKey() {
    return `${get().project?.frames_key} ${this.axis} ${this.index}`;
  }

  /** Whether the plane that is chosen is the one that is seen, be it with the grey values of a moment ago. */
  get isSeen() {
    return this.ready || (this.shownKey === this.planeKey && this.pictures.peek(this.shownAddress) !== null);
  }

  /** Whether there is anything to see on it. */
  get isShown() {
    const { project, showPlanes } = get();
    return project !== null && (this.isLarge || (project.kind === "volume" && showPlanes));
  }

  fetch() {
    const { plane } = this;
    if (plane !== null && this.isShown) this.fetching.around(plane, this.index, this.isLarge);
  }

  wholeView() {
    const { plane } = this;
    return fitView(plane?.turn ?? NO_TURN, this.screen, plane?.aspect ?? 1);
  }

  fit() {
    this.fitted = true;
    this.view = this.wholeView();
    this.draw();
  }

  /** @param {import("./view.js").View} view */
  look(view) {
    this.fitted = false;
    this.view = view;
    this.draw();
  }

  /** @param {number} factor @param {{x: number, y: number}} [at] */
  zoom(factor, at = { x: this.screen.width / 2, y: this.screen.height / 2 }) {
    this.look(zoomAt(this.view, factor, at, this.wholeView()));
  }

  resized() {
    if (this.fitted) this.view = this.wholeView();
    this.draw();
  }

  /** @param {{y: number, x: number}} pixel */
  centreOf(pixel) {
    return pixelCentre(this.view, pixel);
  }

  /** The pixel of this plane at a place of the volume. @param {Place} place */
  pixelOf({ frame, y, x }) {
    const place = [frame, y, x];
    const { rows, columns } = this.plane ?? { rows: 1, columns: 2 };
    return { y: place[rows], x: place[columns] };
  }

  /** The place of the volume at a pixel of this plane. @param {{y: number, x: number}} pixel @returns {Place} */
  placeOf(pixel) {
    const place = crosshair();
    const { rows, columns } = this.plane ?? { rows: 1, columns: 2 };
    place[rows] = pixel.y;
    place[columns] = pixel.x;
    return { frame: place[0], y: place[1], x: place[2] };
  }

  /** How far a place lies from this plane. @param {Place} place */
  distanceTo({ frame, y, x }) {
    return Math.abs([frame, y, x][this.axis] - this.index);
  }

  /** Draw before the browser next shows the page. */
  draw() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.drawNow();
    });
  }

  drawNow() {
    const { width, height, ratio } = fitCanvas(this.canvas);
    const context = context2d(this.canvas);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (!this.isShown) return;
    const isReady = this.ready;
    if (isReady) [this.shownAddress, this.shownKey] = [this.address, this.planeKey];
    this.canvas.dataset.frame = isReady ? String(this.index) : "loading";
    this.drawFrame(context);
    if (this.isSeen) this.drawMarks(context);
    if (get().project?.kind === "volume" && get().showPlanes && get().showCross) this.drawCross(context);
    TOOLS[get().tool].draw(context, this);
    if (get().keyboardCursor && this.isLarge) drawTarget(context, this.centreOf(this.cursorPixel));
    this.canvas.dispatchEvent(new CustomEvent("drawn"));
  }

  /** The pixel of this plane where the crosshair is. */
  get cursorPixel() {
    const [frame, y, x] = crosshair();
    return this.pixelOf({ frame, y, x });
  }

  /** @param {CanvasRenderingContext2D} context */
  drawFrame(context) {
    const picture = this.pictures.peek(this.shownAddress);
    if (picture === null) return;
    inImage(context, this.view, () => {
      context.imageSmoothingEnabled = this.view.zoom < SMOOTH_UP_TO;
      context.imageSmoothingQuality = this.view.zoom < 1 ? "high" : "low";
      // What is still seen of another frame is dimmed, so that nobody takes it for this one.
      if (!this.isSeen) context.globalAlpha = 0.55;
      context.drawImage(picture, 0, 0, this.image.width, this.image.height);
    });
  }

  /** @param {CanvasRenderingContext2D} context */
  drawMarks(context) {
    const { project, frame, showHeat, object: current } = get();
    if (project === null) return;
    const shown = project.objects.find((object) => object.name === current);
    if (showHeat && shown) this.drawHeat(context, shown);
    if (this.axis === 0) this.masks.prefetch(project.objects, frame);
    const seen = project.objects.filter((object) => !get().hidden.includes(object.name));
    for (const object of seen) this.drawMask(context, object);
    if (get().compared !== null && shown) this.drawCompared(context, shown, /** @type {number} */ (get().compared));
    for (const object of seen) {
      const box = this.axis === 0 ? object.boxes.find((other) => other.frame === frame) : undefined;
      if (box !== undefined) strokeBox(context, this.view, box, object.colour);
      for (const point of this.pointsOf(object)) {
        drawPoint(context, this.centreOf(this.pixelOf(shownPlace(point))), point, {
          colour: object.colour,
          current: object === shown,
          scale: this.isLarge ? 1 : 0.7,
        });
      }
    }
  }

  /** The points that are seen in this plane. @param {Thing} object */
  pointsOf(object) {
    const near = this.axis === 0 ? 0 : NEAR;
    return object.points.filter((point) => this.distanceTo(shownPlace(point)) <= near);
  }

  /** @param {CanvasRenderingContext2D} context @param {Thing} object */
  drawHeat(context, object) {
    const heat = this.masks.heatOf(object, this.axis, this.index);
    if (heat === null) return;
    inImage(context, this.view, () => {
      context.globalAlpha = 0.65;
      context.imageSmoothingEnabled = true;
      context.drawImage(heat, 0, 0, this.image.width, this.image.height);
    });
  }

  /** @param {CanvasRenderingContext2D} context @param {Thing} object */
  drawMask(context, object) {
    const { showMask, showContour, opacity } = get();
    if (!showMask && !showContour) return;
    const mask = paintedMask(object, this.where) ?? this.masks.of(object, this.axis, this.index);
    if (mask === null) return;
    if (showMask) {
      inImage(context, this.view, () => {
        context.imageSmoothingEnabled = false;
        context.globalAlpha = opacity;
        context.drawImage(mask.picture, 0, 0);
      });
    }
    if (showContour) this.drawOutline(context, mask, object.colour);
  }

  /**
   * Dark round the object's colour: one of the two stands out from any image.
   * @param {CanvasRenderingContext2D} context
   * @param {import("./masks.js").DrawnMask} mask
   * @param {string} own
   */
  drawOutline(context, mask, own) {
    const edges = onScreen(this.view, mask.edges);
    context.save();
    context.lineCap = mask.rough ? "butt" : "square";
    if (mask.rough) context.setLineDash([5, 4]);
    for (const [width, colour] of /** @type {const} */ ([
      [4.5, "rgba(8, 12, 16, 0.9)"],
      [1.75, own],
    ])) {
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke(edges);
    }
    context.restore();
  }

  /** The outline in another run. @param {CanvasRenderingContext2D} context @param {Thing} object @param {number} run */
  drawCompared(context, object, run) {
    const mask = this.masks.ofRun(object, this.where, run);
    if (mask === null) return;
    context.save();
    context.lineWidth = 2;
    context.setLineDash([6, 5]);
    context.strokeStyle = "#ffffff";
    context.stroke(onScreen(this.view, mask.edges));
    context.restore();
  }

  /** Lines through the crosshair, open in the middle. @param {CanvasRenderingContext2D} context */
  drawCross(context) {
    const { x, y } = this.centreOf(this.cursorPixel);
    const { width, height } = shownSize(this.view.turn);
    const { left, top, zoom, aspect } = this.view;
    const [right, bottom] = [left + width * zoom, top + height * zoom * aspect];
    const gap = 9;
    context.save();
    context.lineWidth = 1;
    context.strokeStyle = "rgba(125, 211, 222, 0.75)";
    context.beginPath();
    for (const [fromX, fromY, toX, toY] of [
      [left, y, x - gap, y],
      [x + gap, y, right, y],
      [x, top, x, y - gap],
      [x, y + gap, x, bottom],
    ]) {
      context.moveTo(fromX, fromY);
      context.lineTo(toX, toY);
    }
    context.stroke();
    context.restore();
  }

  /** @param {{x: number, y: number}} screen @param {boolean} other @returns {Pointer} */
  pointerAt(screen, other) {
    const position = toImage(this.view, screen);
    const pixel = nearestPixel(position, this.image);
    return { position, screen, other, pixel, place: this.placeOf(pixel), inside: isInside(position, this.image) };
  }

  /** @param {{y: number, x: number}} position  in the image */
  toScreen(position) {
    return toScreen(this.view, position);
  }
}

/** @param {Axis} axis @returns {[Axis, Axis]} */
function otherAxes(axis) {
  return /** @type {[Axis, Axis]} */ ([0, 1, 2].filter((other) => other !== axis));
}

/** Where keys mark. @param {CanvasRenderingContext2D} context @param {{x: number, y: number}} centre */
function drawTarget(context, { x, y }) {
  for (const [width, colour] of /** @type {const} */ ([
    [4, "rgba(0, 0, 0, 0.7)"],
    [1.5, "#ffffff"],
  ])) {
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.beginPath();
    for (const [dx, dy] of [
      [1, 0],
      [-1, 0],
      [0, 1],
      [0, -1],
    ]) {
      context.moveTo(x + 5 * dx, y + 5 * dy);
      context.lineTo(x + 18 * dx, y + 18 * dy);
    }
    context.stroke();
  }
}
