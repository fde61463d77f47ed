/** What does the page know now, and who must hear when it changes? */

/** @typedef {import("./types.js").ProjectMessage} Project */
/** @typedef {import("./types.js").RunMessage} Run */
/** @typedef {import("./types.js").ObjectMessage} Thing */
/** @typedef {"point" | "negative" | "box" | "brush" | "eraser" | "lasso" | "scribble" | "cross" | "ruler" | "window" | "pan"} ToolName */

/**
 * @typedef {object} State
 * @property {Project | null} project
 * @property {number} frame
 * @property {string} object  name of the object that is being marked
 * @property {ToolName} tool
 * @property {{low: number, high: number} | null} window  null if the image is in colour
 * @property {boolean} showMask
 * @property {boolean} showContour
 * @property {boolean} showHeat
 * @property {number} opacity
 * @property {number} brushRadius  in pixels of the image
 * @property {boolean} ball  whether the brush paints a ball through the volume
 * @property {string[]} hidden  names of objects that are not drawn
 * @property {{y: number, x: number}} cursor  row and column of the crosshair, through which all planes go
 * @property {import("./crosshair.js").Place | null} pointed  the place under the mouse
 * @property {import("./anatomy.js").Axis} mainAxis  that the large plane lies across: 0 for the frames
 * @property {boolean} showCross  whether the crosshair's lines are drawn
 * @property {boolean} keyboardCursor  whether arrow keys move the cursor
 * @property {boolean} playing
 * @property {boolean} stepping  whether a click goes on to the next frame
 * @property {boolean} sizeOfFrame  whether the size is chosen for the current frame only
 * @property {number | null} triedSize  the size that is being chosen and is not said yet
 * @property {boolean} showPlanes
 * @property {number | null} compared  the run whose outlines are drawn beside those of the run shown
 * @property {import("./types.js").UncertaintyMessage | null} uncertainty
 * @property {boolean} online
 * @property {number} unsaved  actions that the server has not confirmed
 */

/** @type {State} */
const state = {
  project: null,
  frame: 0,
  object: "",
  tool: "point",
  window: null,
  showMask: true,
  showContour: true,
  showHeat: false,
  opacity: 0.4,
  brushRadius: 4,
  ball: false,
  hidden: [],
  cursor: { y: 0, x: 0 },
  pointed: null,
  mainAxis: 0,
  showCross: true,
  keyboardCursor: false,
  playing: false,
  stepping: false,
  sizeOfFrame: false,
  triedSize: null,
  showPlanes: true,
  compared: null,
  uncertainty: null,
  online: true,
  unsaved: 0,
};

/** @type {{names: (keyof State)[], listener: (state: Readonly<State>) => void}[]} */
const listeners = [];

/** @returns {Readonly<State>} */
export function get() {
  return state;
}

/** Change some of what is known; whoever listens to what really changed is called. @param {Partial<State>} changes */
export function set(changes) {
  const names = /** @type {(keyof State)[]} */ (Object.keys(changes));
  const changed = names.filter((name) => !Object.is(state[name], changes[name]));
  Object.assign(state, changes);
  for (const { names: heard, listener } of listeners) if (heard.some((name) => changed.includes(name))) listener(state);
}

/**
 * Call the listener now and whenever one of these changes.
 * @param {(keyof State)[]} names
 * @param {(state: Readonly<State>) => void} listener
 */
export function watch(names, listener) {
  listeners.push({ names, listener });
  listener(state);
}

/** @returns {Project} */
export function openProject() {
  if (state.project === null) throw new Error("no project is open");
  return state.project;
}

/** The object that is being marked. @returns {Thing | null} */
export function currentObject() {
  return state.project?.objects.find((object) => object.name === state.object) ?? null;
}

/** The run that waits or runs now. @returns {Run | null} */
export function activeRun() {
  return state.project?.runs.findLast((run) => run.state === "running" || run.state === "waiting") ?? null;
}

/** The run, or the kept answer, whose masks are shown unless something newer was answered. @returns {Run | null} */
export function shownRun() {
  return results().find((run) => run.id === state.project?.shown) ?? null;
}

/** Runs, and answers that are kept, by their numbers. @returns {Run[]} */
export function results() {
  const { runs = [], answers = [] } = state.project ?? {};
  return [...runs, ...answers].toSorted((one, other) => one.id - other.id);
}

/** Whether all that is shown of clicked objects are the masks of that run. */
export function showsRun() {
  const { live = null, shown = null } = state.project ?? {};
  return shown !== null && Object.values(live?.shown ?? {}).every(({ stamp }) => stamp.startsWith(`result ${shown} `));
}
