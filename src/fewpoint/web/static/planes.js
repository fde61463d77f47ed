/** What is seen of a volume in the other two planes, through the pixel pointed at? */

import { frameAddress } from "./api.js";
import { context2d, find, fitCanvas } from "./dom.js";
import { complain } from "./notices.js";
import { Pictures } from "./pictures.js";
import { drawPoint } from "./point-marks.js";
import { get, set, watch } from "./store.js";
import { fitView, nearestPixel, pixelCentre, toImage } from "./view.js";

/** @typedef {import("./types.js").ProjectMessage} Project */

/** How near a point must be to a plane to be seen in it, in pixels. */
const NEAR = 2;

/** A plane: its rows are frames, its columns run along x (axis 1, at a fixed y) or along y (axis 2, at a fixed x). */
class Plane {
  /** @param {HTMLCanvasElement} canvas @param {1 | 2} axis */
  constructor(canvas, axis) {
    this.canvas = canvas;
    this.axis = axis;
    this.shownAddress = "";
    this.scheduled = false;
    this.pictures = new Pictures({ onLoad: () => this.draw(), onRefusal: complain });
    canvas.addEventListener("pointerdown", (event) => this.goTo(event));
    canvas.addEventListener("pointermove", (event) => event.buttons === 1 && this.goTo(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
    watch(["project", "window", "cursor", "showPlanes"], () => this.fetch());
    watch(["project", "frame", "cursor", "window", "showPlanes"], () => this.draw());
  }

  /** @param {Project} project */
  image(project) {
    return { height: project.frames, width: this.axis === 1 ? project.width : project.height };
  }

  /** @param {Project} project */
  view(project) {
    const [between, down, right] = project.spacing_mm ?? [1, 1, 1];
    const screen = { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
    return fitView(this.image(project), screen, between / (this.axis === 1 ? right : down));
  }

  /** @returns {string} */
  address() {
    const { project, window, cursor } = get();
    return project === null ? "" : frameAddress(project, this.axis === 1 ? cursor.y : cursor.x, window, this.axis);
  }

  fetch() {
    if (isShown()) this.pictures.want([this.address()], []);
  }

  draw() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.drawNow();
    });
  }

  drawNow() {
    const { project } = get();
    if (project === null || !isShown()) return;
    const { width, height, ratio } = fitCanvas(this.canvas);
    const context = context2d(this.canvas);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const view = this.view(project);
    const image = this.image(project);
    if (this.pictures.peek(this.address()) !== null) this.shownAddress = this.address();
    const picture = this.pictures.peek(this.shownAddress);
    const size = /** @type {const} */ ([image.width * view.zoom, image.height * view.zoom * view.aspect]);
    if (picture !== null) context.drawImage(picture, view.left, view.top, ...size);
    this.drawLines(context, view, size);
    this.drawPoints(context, view, project);
  }

  /**
   * Where the current frame and the pixel pointed at lie.
   * @param {CanvasRenderingContext2D} context
   * @param {import("./view.js").View} view
   * @param {readonly [number, number]} size
   */
  drawLines(context, view, [width, height]) {
    const { frame, cursor } = get();
    const { x, y } = pixelCentre(view, { y: frame, x: this.axis === 1 ? cursor.x : cursor.y });
    context.lineWidth = 1;
    context.strokeStyle = "rgba(125, 211, 222, 0.95)";
    context.beginPath();
    context.moveTo(view.left, y);
    context.lineTo(view.left + width, y);
    context.stroke();
    context.strokeStyle = "rgba(255, 255, 255, 0.35)";
    context.beginPath();
    context.moveTo(x, view.top);
    context.lineTo(x, view.top + height);
    context.stroke();
  }

  /** @param {CanvasRenderingContext2D} context @param {import("./view.js").View} view @param {Project} project */
  drawPoints(context, view, project) {
    const { cursor, object: current } = get();
    for (const object of project.objects) {
      for (const point of object.points) {
        const away = this.axis === 1 ? point.y - cursor.y : point.x - cursor.x;
        if (Math.abs(away) > NEAR) continue;
        const centre = pixelCentre(view, { y: point.frame, x: this.axis === 1 ? point.x : point.y });
        drawPoint(context, centre, point, { colour: object.colour, current: object.name === current, scale: 0.6 });
      }
    }
  }

  /** Go to the frame and pixel that were pressed. @param {PointerEvent} event */
  goTo(event) {
    const { project, cursor } = get();
    if (project === null) return;
    const bounds = this.canvas.getBoundingClientRect();
    const screen = { x: event.clientX - bounds.left, y: event.clientY - bounds.top };
    const pixel = nearestPixel(toImage(this.view(project), screen), this.image(project));
    set({
      frame: pixel.y,
      cursor: this.axis === 1 ? { ...cursor, x: pixel.x } : { ...cursor, y: pixel.x },
      playing: false,
    });
  }
}

function isShown() {
  const { project, showPlanes } = get();
  return project?.kind === "volume" && showPlanes;
}

export function setUpPlanes() {
  const area = find("planes", HTMLElement);
  watch(["project", "showPlanes"], () => {
    area.hidden = !isShown();
  });
  new Plane(find("plane-1", HTMLCanvasElement), 1);
  new Plane(find("plane-2", HTMLCanvasElement), 2);
}
