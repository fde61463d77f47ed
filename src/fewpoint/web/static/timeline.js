/** Which frame is shown, which are marked, and which are worth a look? */

import { goTo } from "./commands.js";
import { context2d, find, fitCanvas } from "./dom.js";
import { addressOf } from "./frames.js";
import { announce } from "./notices.js";
import { heatColour } from "./pixels.js";
import { get, set, watch } from "./store.js";

/** Half the width of the slider's thumb: frames lie between the places that its middle can reach. */
const INSET = 8;
const POINTS_HEIGHT = 12;
const GAP = 4;
const DOUBT_HEIGHT = 8;
const SETTLED_MS = 500;

/** @param {import("./stage.js").Stage} stage */
export function setUpTimeline(stage) {
  const slider = find("slider", HTMLInputElement);
  const strip = find("strip", HTMLCanvasElement);
  slider.addEventListener("input", () => set({ frame: Number(slider.value), playing: false }));
  strip.addEventListener("pointerdown", (event) => jump(strip, event));
  strip.addEventListener("pointermove", (event) => event.buttons === 1 && jump(strip, event));
  watch(["project", "frame"], ({ project, frame }) => {
    slider.max = String(Math.max(0, (project?.frames ?? 1) - 1));
    slider.value = String(frame);
    slider.disabled = project === null;
    slider.setAttribute("aria-valuetext", describe());
    find("frame-number", HTMLElement).textContent = project === null ? "" : `${frame} / ${project.frames - 1}`;
  });
  let timer = 0;
  watch(["frame"], ({ project, playing }) => {
    window.clearTimeout(timer);
    // Only the frame at which a person stops is worth saying.
    if (project !== null && !playing) timer = window.setTimeout(() => announce(describe()), SETTLED_MS);
  });
  watch(["project", "frame", "object", "uncertainty"], () => drawStrip(strip));
  new ResizeObserver(() => drawStrip(strip)).observe(strip);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawStrip(strip));
  setUpPlaying(stage);
  drawLegend(find("doubt-legend", HTMLCanvasElement));
}

/** The colours of doubt, from low to high. @param {HTMLCanvasElement} canvas */
function drawLegend(canvas) {
  const context = context2d(canvas);
  for (let x = 0; x < canvas.width; x += 1) {
    context.fillStyle = `rgb(${heatColour(x / (canvas.width - 1)).join(" ")})`;
    context.fillRect(x, 0, 1, canvas.height);
  }
}

/** The frame in words, for those who do not see it. */
function describe() {
  const { project, frame } = get();
  if (project === null) return "";
  const parts = project.objects.map(({ name, points, absent, brushed }) => {
    const count = points.filter((point) => point.frame === frame).length;
    if (absent.includes(frame)) return `${name} absent`;
    return `${name} ${count} ${count === 1 ? "point" : "points"}${brushed.includes(frame) ? ", drawn" : ""}`;
  });
  return `Frame ${frame} of 0 to ${project.frames - 1}. ${parts.join(", ")}`;
}

/** @param {HTMLCanvasElement} strip @param {PointerEvent} event */
function jump(strip, event) {
  const { project } = get();
  if (project === null) return;
  const share = (event.clientX - strip.getBoundingClientRect().left - INSET) / (strip.clientWidth - 2 * INSET);
  set({ playing: false });
  goTo(Math.round(share * (project.frames - 1)));
}

/** @param {HTMLCanvasElement} strip */
function drawStrip(strip) {
  const { project, frame, uncertainty, object: current } = get();
  const { width, height, ratio } = fitCanvas(strip);
  const context = context2d(strip);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  if (project === null) return;
  const step = (width - 2 * INSET) / Math.max(1, project.frames - 1);
  const cell = {
    at: (/** @type {number} */ index) => INSET + index * step,
    width: Math.max(2, Math.min(step - 1, 14)),
  };
  const ink = getComputedStyle(strip);
  context.fillStyle = ink.getPropertyValue("--track");
  context.fillRect(INSET - cell.width / 2, 0, width - 2 * INSET + cell.width, POINTS_HEIGHT);
  context.fillRect(INSET - cell.width / 2, POINTS_HEIGHT + GAP, width - 2 * INSET + cell.width, DOUBT_HEIGHT);
  drawMarks(context, project, cell, current);
  if (uncertainty !== null) drawDoubt(context, uncertainty, cell.at, step);
  context.fillStyle = ink.getPropertyValue("--text");
  context.fillRect(cell.at(frame) - 1, 0, 2, POINTS_HEIGHT + GAP + DOUBT_HEIGHT);
}

/**
 * A tick for each frame with points, a low one for each with a box, a hollow one for each on which the object is not, a
 * diamond for each that is outlined; one lane per object.
 * @param {CanvasRenderingContext2D} context
 * @param {import("./types.js").ProjectMessage} project
 * @param {{at: (index: number) => number, width: number}} cell
 * @param {string} current
 */
function drawMarks(context, project, cell, current) {
  const lane = POINTS_HEIGHT / Math.max(1, project.objects.length);
  project.objects.forEach(({ name, points, absent, boxes, brushed, colour }, index) => {
    const top = index * lane + 1;
    const height = Math.max(1.5, lane - 2);
    context.globalAlpha = name === current ? 1 : 0.6;
    context.fillStyle = colour;
    for (const { frame } of boxes)
      context.fillRect(cell.at(frame) - cell.width / 2, top + height - 3, cell.width, 3);
    for (const { frame } of points) context.fillRect(cell.at(frame) - cell.width / 2, top, cell.width, height);
    context.strokeStyle = colour;
    context.lineWidth = 1;
    for (const frame of absent)
      context.strokeRect(cell.at(frame) - cell.width / 2 + 0.5, top + 0.5, cell.width - 1, height - 1);
    for (const frame of brushed) drawDiamond(context, cell.at(frame), top + height / 2, Math.max(3.5, height / 2));
  });
  context.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} radius */
function drawDiamond(context, x, y, radius) {
  context.beginPath();
  context.moveTo(x, y - radius);
  context.lineTo(x + radius, y);
  context.lineTo(x, y + radius);
  context.lineTo(x - radius, y);
  context.closePath();
  context.fill();
  context.strokeStyle = getComputedStyle(context.canvas).getPropertyValue("--text");
  context.stroke();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./types.js").UncertaintyMessage} uncertainty
 * @param {(index: number) => number} at
 * @param {number} step
 */
function drawDoubt(context, { frames }, at, step) {
  // By the most doubtful frame, so that something stands out however sure the whole is.
  const most = Math.max(...frames, 1e-6);
  frames.forEach((doubt, index) => {
    context.fillStyle = `rgb(${heatColour(doubt / most).join(" ")})`;
    context.fillRect(at(index) - step / 2, POINTS_HEIGHT + GAP, step + 0.5, DOUBT_HEIGHT);
  });
}

/** Go from frame to frame, waiting for those that have not come yet. @param {import("./stage.js").Stage} stage */
function setUpPlaying(stage) {
  const speed = find("speed", HTMLSelectElement);
  let last = 0;
  const advance = (/** @type {number} */ now) => {
    const { playing, project, frame } = get();
    if (!playing || project === null) return;
    const next = (frame + 1) % project.frames;
    // From the last frame to the first, which is fetched only once it is gone to.
    const isAtHand = next === 0 || stage.pictures.peek(addressOf(next)) !== null;
    if (now - last >= 1000 / Number(speed.value) - 4 && isAtHand) {
      last = now;
      set({ frame: next });
    }
    requestAnimationFrame(advance);
  };
  watch(["playing"], ({ playing }) => {
    if (playing) requestAnimationFrame(advance);
  });
}
