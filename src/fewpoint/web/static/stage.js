/** What is seen of the current frame? */

import { strokeBox } from "./box-tool.js";
import { paintedMask } from "./brush-tool.js";
import { context2d, fitCanvas } from "./dom.js";
import { addressOf, fetchAround } from "./frames.js";
import { Masks } from "./masks.js";
import { complain } from "./notices.js";
import { Pictures } from "./pictures.js";
import { drawPoint } from "./point-marks.js";
import { shownPlace } from "./point-tool.js";
import { get, watch } from "./store.js";
import { TOOLS } from "./tools.js";
import { fitView, isInside, nearestPixel, pixelCentre, toImage, zoomAt } from "./view.js";

/** @typedef {import("./tools.js").Pointer} Pointer */

/** Beyond this many screen pixels for one of the image, pixels are shown as squares. */
const SMOOTH_UP_TO = 12;

/** The canvas, the view of the image on it, and all that is drawn. */
export class Stage {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.view = { zoom: 1, aspect: 1, left: 0, top: 0 };
    /** Whether the whole image is kept in sight when the page changes its size. */
    this.fitted = true;
    this.scheduled = false;
    /** The frame last drawn, kept in sight until the next has come. */
    this.shownAddress = "";
    /** @type {Pointer | null} the mouse, while it is over the image */
    this.pointer = null;
    this.pictures = new Pictures({
      onLoad: (address) => address === addressOf(get().frame) && this.draw(),
      onRefusal: complain,
    });
    this.masks = new Masks(() => this.draw());
    this.hear();
  }

  hear() {
    new ResizeObserver(() => this.resized()).observe(this.canvas);
    /** @type {string | undefined} */
    let project;
    watch(["project"], (state) => {
      if (state.project?.id !== project) this.fit();
      project = state.project?.id;
    });
    watch(["project", "frame", "window", "online"], () => fetchAround(this.pictures));
    watch(["project", "frame", "window", "tool", "object", "showMask", "showContour", "showHeat", "opacity"], () =>
      this.draw(),
    );
    watch(["brushRadius", "cursor", "keyboardCursor", "preview"], () => this.draw());
  }

  /** @returns {{width: number, height: number}} */
  get image() {
    const { project } = get();
    return { width: project?.width ?? 1, height: project?.height ?? 1 };
  }

  get screen() {
    return { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
  }

  /** Whether the frame that is chosen is the one that is seen. */
  get ready() {
    return this.pictures.peek(addressOf(get().frame)) !== null;
  }

  wholeView() {
    const spacing = get().project?.spacing_mm;
    return fitView(this.image, this.screen, spacing ? spacing[1] / spacing[2] : 1);
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
    if (get().project === null) return;
    const isReady = this.ready;
    if (isReady) this.shownAddress = addressOf(get().frame);
    this.canvas.dataset.frame = isReady ? String(get().frame) : "loading";
    this.drawFrame(context, isReady);
    if (isReady) this.drawMarks(context);
    TOOLS[get().tool].draw(context, this);
    if (get().keyboardCursor) drawCrosshair(context, this.centreOf(get().cursor));
    this.canvas.dispatchEvent(new CustomEvent("drawn"));
  }

  /** @param {CanvasRenderingContext2D} context @param {boolean} isReady */
  drawFrame(context, isReady) {
    const picture = this.pictures.peek(this.shownAddress);
    if (picture === null) return;
    this.inImage(context, () => {
      context.imageSmoothingEnabled = this.view.zoom < SMOOTH_UP_TO;
      context.imageSmoothingQuality = this.view.zoom < 1 ? "high" : "low";
      // What is still seen of another frame is dimmed, so that nobody takes it for this one.
      if (!isReady) context.globalAlpha = 0.55;
      context.drawImage(picture, 0, 0, this.image.width, this.image.height);
    });
  }

  /** @param {CanvasRenderingContext2D} context */
  drawMarks(context) {
    const { project, frame, showHeat, object: current } = get();
    if (project === null) return;
    const shown = project.objects.find((object) => object.name === current);
    if (showHeat && shown) this.drawHeat(context, shown);
    this.masks.prefetch(project.objects, frame);
    for (const object of project.objects) this.drawMask(context, object);
    for (const object of project.objects) {
      const box = object.boxes.find((other) => other.frame === frame);
      if (box !== undefined) strokeBox(context, this.view, box, object.colour);
      for (const point of object.points.filter((other) => other.frame === frame)) {
        drawPoint(context, this.centreOf(shownPlace(point)), point, {
          colour: object.colour,
          current: object === shown,
        });
      }
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {import("./types.js").ObjectMessage} object */
  drawHeat(context, object) {
    const heat = this.masks.heatOf(object, get().frame);
    if (heat === null) return;
    this.inImage(context, () => {
      context.globalAlpha = 0.65;
      context.imageSmoothingEnabled = true;
      context.drawImage(heat, 0, 0, this.image.width, this.image.height);
    });
  }

  /** @param {CanvasRenderingContext2D} context @param {import("./types.js").ObjectMessage} object */
  drawMask(context, object) {
    const { frame, showMask, showContour, opacity } = get();
    if (!showMask && !showContour) return;
    const mask = paintedMask(object, frame) ?? this.masks.of(object, frame);
    if (mask === null) return;
    this.inImage(context, () => {
      context.imageSmoothingEnabled = false;
      if (showMask) {
        context.globalAlpha = opacity;
        context.drawImage(mask.picture, 0, 0);
      }
      if (showContour) {
        context.globalAlpha = 1;
        context.lineWidth = 1.75 / this.view.zoom;
        context.lineCap = mask.rough ? "butt" : "square";
        if (mask.rough) context.setLineDash([5 / this.view.zoom, 4 / this.view.zoom]);
        context.strokeStyle = object.colour;
        context.stroke(mask.edges);
      }
    });
  }

  /** Draw in pixels of the image. @param {CanvasRenderingContext2D} context @param {() => void} draw */
  inImage(context, draw) {
    const { zoom, aspect, left, top } = this.view;
    context.save();
    context.translate(left, top);
    context.scale(zoom, zoom * aspect);
    draw();
    context.restore();
  }

  /** @param {{x: number, y: number}} screen @param {boolean} other @returns {Pointer} */
  pointerAt(screen, other) {
    const position = toImage(this.view, screen);
    return {
      position,
      screen,
      other,
      pixel: nearestPixel(position, this.image),
      inside: isInside(position, this.image),
    };
  }
}

/** @param {CanvasRenderingContext2D} context @param {{x: number, y: number}} centre */
function drawCrosshair(context, { x, y }) {
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
