/** What is said on and round the image: its name, zoom, window, the pixel pointed at, and what to do next. */

import { find } from "./dom.js";
import { isRough } from "./masks.js";
import { currentObject, get, set, shownRun, activeRun, watch } from "./store.js";
import { TOOLS } from "./tools.js";

/** @param {import("./stage.js").Stage} stage */
export function setUpViewer(stage) {
  const zoomLabel = find("zoom", HTMLElement);
  stage.canvas.addEventListener("drawn", () => {
    zoomLabel.textContent = `${Math.round(100 * stage.view.zoom)} %`;
  });
  watch(["tool"], ({ tool }) => {
    stage.canvas.dataset.cursor = TOOLS[tool].cursor;
  });
  watch(["project", "frame"], ({ project, frame }) => {
    find("welcome", HTMLElement).hidden = project !== null;
    find("panel", HTMLElement).inert = project === null;
    find("viewer", HTMLElement).classList.toggle("empty", project === null);
    find("frame-name", HTMLElement).textContent = project?.kind === "frames" ? (project.frame_names[frame] ?? "") : "";
  });
  watch(["project"], showTitle);
  watch(["project", "frame", "object"], () => {
    const object = currentObject();
    const badge = find("absent-badge", HTMLElement);
    badge.hidden = !object?.absent.includes(get().frame);
    badge.textContent = object ? `${object.name} is not on this frame` : "";
    find("brushed-badge", HTMLElement).hidden = !object?.brushed.includes(get().frame);
  });
  watch(["project", "frame", "object"], ({ frame, showMask, showContour }) => {
    const object = currentObject();
    find("rough-badge", HTMLElement).hidden = object === null || !(showMask || showContour) || !isRough(object, frame);
  });
  watch(["project", "tool", "keyboardCursor"], () => {
    find("hint", HTMLElement).textContent = nextStep();
  });
  watch(["online", "unsaved", "project"], showSaved);
  setUpLook();
}

/** @param {number} value */
const shorten = (value) => Number(value.toPrecision(4)).toString();

function showTitle() {
  const { project } = get();
  find("project-name", HTMLElement).textContent = project?.name ?? "";
  const size = project === null ? "" : `${project.frames} frames of ${project.width} × ${project.height}`;
  const spacing = project?.spacing_mm ? ` · ${project.spacing_mm.map((value) => shorten(value)).join(" × ")} mm` : "";
  find("project-size", HTMLElement).textContent = `${size}${spacing}`;
}

/** One line about what a person would do next. */
function nextStep() {
  const { project, tool, keyboardCursor } = get();
  if (project === null) return "";
  if (keyboardCursor) return "Arrow keys move the cursor, Enter marks, Escape ends.";
  if (tool === "box") return "Drag a box around the object: there is no object outside it on this frame.";
  if (tool === "brush" || tool === "eraser") return "Drag to change the mask, in any plane; [ and ] change the size.";
  if (tool === "lasso") return "Drag around what belongs to the mask; with Alt around what does not.";
  if (tool === "scribble") return "Drag along the object to add clicks; with Alt background clicks.";
  if (tool === "cross") return "Drag the crosshair: all planes go through it. With Shift it follows the mouse.";
  if (tool === "ruler") return "Drag from one place to another: the distance is shown.";
  if (tool === "window") return "Drag up and down for brightness, left and right for contrast.";
  if (tool === "negative") return "Click on background where the mask leaks.";
  if (project.live.on) return nextLiveStep(project);
  if (activeRun() !== null) return "You may close this page: the run continues.";
  const marked = new Set(project.objects.flatMap((object) => object.points.map((point) => point.frame))).size;
  if (shownRun() !== null) return "Review uncertain frames (N), add clicks, refine.";
  if (marked === 0) return "Click on the object. One click on every few frames is enough.";
  if (marked < Math.min(5, project.frames))
    return `${marked} of ${project.frames} frames are annotated. A few more will help.`;
  if (!project.objects.some((object) => object.box)) return "Draw a box (B) where the object is largest, then run.";
  return "Ready to run.";
}

/** @param {import("./types.js").ProjectMessage} project */
function nextLiveStep(project) {
  const marked = new Set(project.objects.flatMap((object) => object.points.map((point) => point.frame))).size;
  if (marked === 0) return "Click on the object: a preview follows each click.";
  if (shownRun() !== null) return "Click where a mask is wrong, or press Enter to accept it. N goes to the next frame to review.";
  if (activeRun() !== null) return "Keep annotating: new marks are used next.";
  if (marked < 2) return "Click on the object on another frame, too: then training starts.";
  return "A click on every few frames is enough. Training starts by itself.";
}

function showSaved() {
  const { online, unsaved, project } = get();
  const label = find("saved", HTMLElement);
  label.hidden = project === null;
  label.dataset.state = !online ? "offline" : unsaved > 0 ? "saving" : "saved";
  const waiting = unsaved > 0 ? `: ${unsaved} ${unsaved === 1 ? "change waits" : "changes wait"}` : "";
  label.textContent = !online ? `Not connected${waiting}` : unsaved > 0 ? "Saving…" : "All changes saved";
}

/** Sliders for how masks and brush look. */
function setUpLook() {
  const opacity = find("opacity", HTMLInputElement);
  const brush = find("brush-size", HTMLInputElement);
  opacity.addEventListener("input", () => set({ opacity: Number(opacity.value) / 100 }));
  brush.addEventListener("input", () => set({ brushRadius: Number(brush.value) }));
  watch(["opacity"], (state) => {
    opacity.value = String(Math.round(100 * state.opacity));
  });
  watch(["brushRadius", "tool"], ({ brushRadius, tool }) => {
    brush.value = String(brushRadius);
    find("brush-row", HTMLElement).hidden = tool !== "brush" && tool !== "eraser";
  });
  watch(["project"], ({ project }) => {
    brush.max = String(Math.max(8, Math.round(Math.max(project?.width ?? 0, project?.height ?? 0) / 10)));
  });
}
