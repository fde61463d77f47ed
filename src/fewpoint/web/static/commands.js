/** What can a person make the page do, and by which key? Buttons, keys and the help all come from this list. */

import { acceptFrame } from "./brush-tool.js";
import { goAlong, stepAlong } from "./crosshair.js";
import { openHistory, undoRefinement } from "./history-panel.js";
import { toggleLive } from "./live-panel.js";
import { tell } from "./notices.js";
import { planeOf } from "./anatomy.js";
import { turnPlanes } from "./planes.js";
import { act } from "./session.js";
import { changeSize, resetSize, shownSize } from "./size-panel.js";
import { activeRun, currentObject, get, openProject, set, shownRun } from "./store.js";
import { openSurface } from "./surface-view.js";
import { changeWindow, resetWindow } from "./view-tools.js";
import { pan } from "./view.js";
import { isAmong } from "./who.js";
import { goToStudy, judge, openWorklist } from "./worklist.js";

/**
 * @typedef {object} Command
 * @property {string} label
 * @property {string} group
 * @property {string[]} keys  as `keyOf` names them
 * @property {() => void} run
 * @property {() => boolean} [can]  whether it would do anything now
 * @property {() => boolean} [on]  for what is on or off
 */

const ZOOM_STEP = 1.25;
const PAN_STEP = 60;
const WINDOW_STEP = 0.03;
const JUMP = 10;
const SIZE_STEP = 1.1;

const isOpen = () => get().project !== null;

/** @param {number} frame */
export function goTo(frame) {
  const { project } = get();
  if (project !== null) set({ frame: Math.min(project.frames - 1, Math.max(0, frame)) });
}

/** @param {import("./store.js").ToolName} tool @param {string} label @param {string} key @returns {Command} */
const choose = (tool, label, key) => ({
  label,
  group: "Mark",
  keys: [key],
  can: () => isOpen() && (tool !== "window" || get().window !== null),
  on: () => get().tool === tool,
  run: () => set({ tool }),
});

/**
 * @param {"showMask" | "showContour" | "showHeat" | "showPlanes" | "showCross" | "stepping"} name
 * @param {string} label
 * @param {string} group
 * @param {string} key
 * @returns {Command}
 */
const toggle = (name, label, group, key) => ({
  label,
  group,
  keys: [key],
  on: () => get()[name],
  run: () => set({ [name]: !get()[name] }),
});

function toggleAbsent() {
  const { frame, object } = get();
  const absent = !currentObject()?.absent.includes(frame);
  act({ kind: "mark_absent", object, frame, absent });
}

/**
 * Frames that were gone to for their doubt, of the masks whose doubt it was.
 * @type {{of: number | null, frames: Set<number>}}
 */
let looked = { of: null, frames: new Set() };

/** To the most doubtful frame that was not gone to before. */
function goToNextDoubtful() {
  const { uncertainty } = get();
  const run = shownRun();
  if (uncertainty === null || run === null) return;
  if (looked.of !== run.id) looked = { of: run.id, frames: new Set() };
  const left = uncertainty.frames
    .map((doubt, frame) => ({ doubt, frame }))
    .filter(({ doubt, frame }) => doubt > 0 && !looked.frames.has(frame));
  const next = left.sort((one, other) => other.doubt - one.doubt)[0];
  if (next === undefined) return tell("You have seen every frame to review.");
  looked.frames.add(next.frame);
  set({ frame: next.frame, playing: false });
}

/** @param {1 | -1} step */
function goToMarked(step) {
  const { points = [], boxes = [], absent = [], brushed = [] } = currentObject() ?? {};
  const marked = [...points, ...boxes].map(({ frame }) => frame).concat(absent, brushed);
  const beyond = marked.filter((frame) => step * (frame - get().frame) > 0).sort((one, other) => step * (one - other));
  if (beyond.length > 0) goTo(beyond[0]);
}

/**
 * @param {object} parts
 * @param {import("./stage.js").Stage} parts.stage
 * @param {(refine: boolean) => void} parts.startRun
 * @param {Record<"openFiles" | "openExport" | "openHelp", () => void>} parts.dialogs
 * @returns {Record<string, Command>}
 */
export function makeCommands({ stage, startRun, dialogs }) {
  /** @param {string} label @param {string[]} keys @param {() => void} run @param {string} [group] @returns {Command} */
  const simple = (label, keys, run, group = "Look") => ({ label, group, keys, run, can: isOpen });
  /** @param {number} right @param {number} down */
  const shift = (right, down) => () => stage.look(pan(stage.view, right * PAN_STEP, down * PAN_STEP));
  /** Go through the planes of the large view, which are the frames unless another one was chosen. */
  const along = (/** @type {number} */ steps) => () => stepAlong(get().mainAxis, steps);
  const isVolume = () => get().project?.kind === "volume";
  const last = () => planeOf(openProject(), get().mainAxis).count - 1;
  return {
    next: simple("Next frame", ["→", "."], along(1)),
    previous: simple("Previous frame", ["←", ","], along(-1)),
    jump: simple(`${JUMP} frames forward`, ["Shift+→", "Page Down"], along(JUMP)),
    jumpBack: simple(`${JUMP} frames back`, ["Shift+←", "Page Up"], along(-JUMP)),
    first: simple("First frame", ["Home"], () => goAlong(get().mainAxis, 0)),
    last: simple("Last frame", ["End"], () => goAlong(get().mainAxis, last())),
    play: {
      ...simple("Play or pause", ["Space"], () => set({ playing: !get().playing, mainAxis: 0 })),
      on: () => get().playing,
    },
    nextMarked: simple("Next frame with a mark", ["K"], () => goToMarked(1)),
    previousMarked: simple("Previous frame with a mark", ["J"], () => goToMarked(-1)),
    zoomIn: simple("Zoom in", ["+", "="], () => stage.zoom(ZOOM_STEP)),
    zoomOut: simple("Zoom out", ["-"], () => stage.zoom(1 / ZOOM_STEP)),
    fit: simple("Whole image", ["0"], () => stage.fit()),
    panLeft: simple("Move the image left", ["Alt+←"], shift(-1, 0)),
    panRight: simple("Move the image right", ["Alt+→"], shift(1, 0)),
    panUp: simple("Move the image up", ["Alt+↑"], shift(0, -1)),
    panDown: simple("Move the image down", ["Alt+↓"], shift(0, 1)),
    brighter: simple("Brighter", ["Shift+B"], () => changeWindow(-WINDOW_STEP, 0)),
    darker: simple("Darker", ["Shift+D"], () => changeWindow(WINDOW_STEP, 0)),
    moreContrast: simple("More contrast", ["Shift+C"], () => changeWindow(0, -WINDOW_STEP)),
    lessContrast: simple("Less contrast", ["Shift+V"], () => changeWindow(0, WINDOW_STEP)),
    resetWindow: simple("Reset brightness and contrast", ["Shift+W"], resetWindow),
    planes: {
      ...toggle("showPlanes", "The other two planes of a volume", "Look", "V"),
      can: isVolume,
    },
    turnPlanes: { ...simple("Another plane in the large view", ["Y"], turnPlanes), can: isVolume },
    crossLines: { ...toggle("showCross", "Lines of the crosshair", "Look", "Shift+X"), can: isVolume },
    surface: { ...simple("Surface of the object", ["G"], openSurface), can: () => isVolume() && currentObject() !== null },

    point: choose("point", "Clicks on the object", "P"),
    negative: choose("negative", "Background clicks", "X"),
    box: choose("box", "Box around it on this frame", "B"),
    brush: choose("brush", "Brush", "D"),
    eraser: choose("eraser", "Eraser", "E"),
    lasso: choose("lasso", "Lasso: around what belongs to the mask", "I"),
    scribble: choose("scribble", "Scribble: points along a line", "Shift+P"),
    cross: { ...choose("cross", "Move the crosshair", "Q"), can: isVolume },
    ruler: choose("ruler", "Measure a distance", "T"),
    window: choose("window", "Brightness and contrast by drag", "W"),
    pan: choose("pan", "Move the image by drag", "H"),
    smallerBrush: simple(
      "Smaller brush",
      ["["],
      () => set({ brushRadius: Math.max(0.5, get().brushRadius / 1.25) }),
      "Mark",
    ),
    largerBrush: simple(
      "Larger brush",
      ["]"],
      () => set({ brushRadius: Math.min(200, get().brushRadius * 1.25) }),
      "Mark",
    ),
    smaller: {
      ...simple("Smaller by a tenth", ["<"], () => changeSize(1 / SIZE_STEP), "Mark"),
      can: () => currentObject() !== null,
    },
    larger: {
      ...simple("Larger by a tenth", [">"], () => changeSize(SIZE_STEP), "Mark"),
      can: () => currentObject() !== null,
    },
    resetSize: {
      ...simple("Original size", ["Shift+S"], resetSize, "Mark"),
      can: () => shownSize() !== 1,
    },
    absent: {
      ...simple("The object is absent from this frame", ["A"], toggleAbsent, "Mark"),
      can: () => currentObject() !== null,
      on: () => currentObject()?.absent.includes(get().frame) ?? false,
    },
    accept: {
      ...simple("Accept this frame: its mask is kept", ["Enter", "Ctrl+Enter"], () => acceptFrame(stage), "Mark"),
      can: () => currentObject() !== null,
    },
    stepping: toggle("stepping", "Advance to the next frame after each click", "Mark", "S"),
    undo: {
      ...simple("Undo", ["Ctrl+Z"], () => act({ kind: "undo" }), "Mark"),
      can: () => isAmong(get().project?.can_undo ?? []),
    },
    redo: {
      ...simple("Redo", ["Ctrl+Shift+Z", "Ctrl+Y"], () => act({ kind: "redo" }), "Mark"),
      can: () => isAmong(get().project?.can_redo ?? []),
    },

    live: {
      ...simple("Live preview and automatic training", ["L"], toggleLive, "Run and check"),
      on: () => get().project?.live.on ?? false,
    },
    run: {
      ...simple("Run", ["R"], () => startRun(false), "Run and check"),
      can: () => isOpen() && activeRun() === null,
    },
    refine: {
      ...simple("Refine: continue from the last run", ["F"], () => startRun(true), "Run and check"),
      can: () => shownRun() !== null && activeRun() === null,
    },
    history: { ...simple("History of results", ["Shift+H"], openHistory, "Run and check") },
    undoRefinement: {
      ...simple("Back to the masks before the last refinement", ["Shift+Z"], undoRefinement, "Run and check"),
      can: () => (shownRun()?.refined_from ?? null) !== null && activeRun() === null,
    },
    nextDoubtful: {
      ...simple("Next frame to review", ["N"], goToNextDoubtful, "Run and check"),
      can: () => get().uncertainty !== null,
    },
    mask: toggle("showMask", "Mask on or off", "Run and check", "M"),
    contour: toggle("showContour", "Outline on or off", "Run and check", "O"),
    heat: toggle("showHeat", "Probability on or off", "Run and check", "U"),
    clearBrush: {
      ...simple("Undo all brushwork on this frame", ["Shift+E"], clearBrush, "Run and check"),
      can: () => currentObject()?.brushed.includes(get().frame) ?? false,
    },

    acceptStudy: {
      ...simple("Accept the masks of this study", ["Shift+Y"], () => judge("accepted"), "Run and check"),
      on: () => get().project?.review.verdict === "accepted" && get().project?.review.current === true,
    },
    rejectStudy: {
      ...simple("Reject the masks of this study", ["Shift+N"], () => judge("rejected"), "Run and check"),
      on: () => get().project?.review.verdict === "rejected" && get().project?.review.current === true,
    },
    worklist: { label: "Worklist", group: "Files and help", keys: ["Ctrl+L"], run: openWorklist },
    nextStudy: simple("Next study", ["Shift+K"], () => goToStudy(1), "Files and help"),
    previousStudy: simple("Previous study", ["Shift+J"], () => goToStudy(-1), "Files and help"),
    open: { label: "Open", group: "Files and help", keys: ["Ctrl+O"], run: dialogs.openFiles },
    export: { ...simple("Export", ["Ctrl+S"], dialogs.openExport, "Files and help") },
    help: { label: "This help", group: "Files and help", keys: ["?"], run: dialogs.openHelp },
  };
}

function clearBrush() {
  const { frame, object } = get();
  act({ kind: "clear_brush", object, frame });
}
