/** How does what a person does reach the server, in order and without loss, and what others do reach the page? */

import { middleOf } from "./anatomy.js";
import { Unreachable, readProject, readUncertainty, sendAction } from "./api.js";
import { listen } from "./events.js";
import { foresee } from "./foresight.js";
import { announce, complain, notify, tell, warn } from "./notices.js";
import { activeRun, get, openProject, set, shownRun } from "./store.js";

/** @typedef {import("./types.js").Action} Action */
/** @typedef {import("./types.js").ProjectMessage} Project */
/** @typedef {import("./types.js").RunMessage} Run */

const RETRY_MS = 1000;
/** Of a warning in a notice; the whole stands in the panel. */
const MOST_LETTERS = 110;

/** The project as the server last reported it. @type {Project | null} */
let confirmed = null;
/**
 * What was done here and is not confirmed yet, in order; opening another project does not drop it.
 * @typedef {import("./types.js").ActionResult} Done
 * @type {{id: string, action: Action | null, send: () => Promise<Done>, done: (accepted: boolean) => void}[]}
 */
const queue = [];
let sending = false;
/** Whoever waits until nothing is in the queue. @type {(() => void)[]} */
const waiting = [];
/** @type {() => void} */
let stopListening = () => {};

/** Show a project and follow it from now on. @param {Project} project */
export function enter(project) {
  stopListening();
  confirmed = project;
  history.replaceState(null, "", `#project=${encodeURIComponent(project.id)}`);
  const [frame, y, x] = firstPlace(project);
  set({
    project,
    frame,
    object: project.objects[0]?.name ?? "",
    window: firstWindow(project),
    cursor: { y, x },
    pointed: null,
    mainAxis: 0,
    keyboardCursor: false,
    playing: false,
    compared: null,
    hidden: [],
    uncertainty: null,
  });
  document.title = titleOf(project);
  refreshUncertainty();
  stopListening = listen(project.id, {
    onEvent: hear,
    onOpen: () => {
      set({ online: true });
      refresh();
      sendAll();
    },
    onLost: () => set({ online: false }),
  });
}

/** Where the first click is, else the middle of a volume or the start of a film. @param {Project} project */
function firstPlace(project) {
  const [point] = project.objects.flatMap((object) => object.points).toSorted((one, other) => one.id - other.id);
  if (point !== undefined) return [point.frame, point.y, point.x];
  const [frame, y, x] = middleOf(project);
  return project.kind === "volume" ? [frame, y, x] : [0, y, x];
}

/** The grey values that were last chosen, else those of the file. @param {Project} project */
function firstWindow(project) {
  const { window, look, is_grey: isGrey } = project;
  return isGrey ? { low: look.low ?? window.low, high: look.high ?? window.high } : null;
}

/** @param {import("./types.js").Event} event */
function hear(event) {
  if (event.kind === "project") accept(event.project);
  else if (event.kind === "run") acceptRun(event.run);
  else if (event.kind === "live") acceptLive(event.live);
  else if (event.kind === "hello" && event.version > (confirmed?.version ?? event.version)) refresh();
}

/** @param {import("./types.js").LiveMessage} live */
function acceptLive(live) {
  if (confirmed === null || live.stamp < confirmed.live.stamp) return;
  confirmed = { ...confirmed, live };
  show();
}

/** Ask for the whole project: events may have been missed. */
async function refresh() {
  try {
    const project = await readProject(openProject().id);
    // The server may have been started anew since, and count from the beginning.
    if (confirmed !== null) confirmed = { ...confirmed, live: project.live };
    accept(project);
  } catch (error) {
    if (!(error instanceof Unreachable)) complain(error);
  }
}

/** @param {Project} project */
function accept(project) {
  if (confirmed === null || project.id !== confirmed.id || project.version < confirmed.version) return;
  // An answer may come later than the news after it.
  confirmed = project.live.stamp < confirmed.live.stamp ? { ...project, live: confirmed.live } : project;
  show();
}

/** @param {Run} run */
function acceptRun(run) {
  if (confirmed === null) return;
  const before = confirmed.runs.find((other) => other.id === run.id);
  const runs = before ? confirmed.runs.map((other) => (other.id === run.id ? run : other)) : [...confirmed.runs, run];
  confirmed = { ...confirmed, runs };
  show();
  if (before?.state !== run.state) announceRun(run);
}

/** Show what the server confirmed, and on top what it will once it has heard all. */
function show() {
  if (confirmed === null) return;
  const before = doubtKey(get().project);
  const project = queue.reduce(
    (known, { id, action }, index) => (id === known.id && action !== null ? foresee(known, action, index) : known),
    confirmed,
  );
  const names = project.objects.map((object) => object.name);
  const object = names.includes(get().object) ? get().object : (names.at(-1) ?? "");
  set({ project, object, frame: Math.min(get().frame, project.frames - 1) });
  if (!document.hidden || activeRun() !== null) document.title = titleOf(project);
  if (doubtKey(project) !== before) refreshUncertainty();
}

/** The first of several warnings, and where the others are. @param {string[]} notes */
function firstOf([first, ...others]) {
  const short = first.length > MOST_LETTERS ? `${first.slice(0, MOST_LETTERS)}…` : `${first}.`;
  return others.length === 0 ? short : `${short} ${others.length} more under Run.`;
}

/** @param {Run} run */
function endInWords(run) {
  const { name } = openProject();
  const ends = { finished: "the masks are ready", failed: "the run failed", cancelled: "stopped" };
  return `${name}: ${ends[/** @type {keyof typeof ends} */ (run.state)] ?? "the run was interrupted"}`;
}

/** The title of the page: the project, and how far its run is. @param {Project} project */
function titleOf(project) {
  const run = activeRun();
  const share = run !== null && run.epochs > 0 ? `${Math.round((100 * run.epoch) / run.epochs)} % · ` : "";
  return `${share}${project.name} · fewpoint`;
}

/** @param {Run} run */
function announceRun(run) {
  if (run.state !== "running" && run.state !== "waiting") notify(endInWords(run));
  if (run.state === "finished" && run.refined_from !== null && openProject().live.on) announce("Training is finished.");
  else if (run.state === "finished" && run.notes.length > 0) warn(`The masks are ready, but ${firstOf(run.notes)}`);
  else if (run.state === "finished") tell("The masks are ready.");
  if (run.state === "cancelled") tell(run.message === "" ? "Stopped." : `${run.message[0].toUpperCase()}${run.message.slice(1)}.`);
  if (run.state === "failed") complain(new Error(run.error || "The run failed without saying why."));
}

/** All that doubt depends on: the masks, and what was said since. @param {Project | null} project */
function doubtKey(project) {
  return JSON.stringify([shownRun()?.id, project?.version]);
}

/** How sure the shown masks are on each frame. */
async function refreshUncertainty() {
  const run = shownRun();
  if (run === null || openProject().answers.includes(run)) return set({ uncertainty: null });
  try {
    const uncertainty = await readUncertainty(openProject().id, run.id);
    if (shownRun()?.id === run.id) set({ uncertainty });
  } catch (error) {
    if (!(error instanceof Unreachable)) complain(error);
  }
}

/** Take over what a request for a run answered. @param {Run} run */
export const knowRun = acceptRun;
/** Take over a project that a request answered. @param {Project} project */
export const knowProject = (project) => accept(project);
/** Take over what a request about live mode answered. */
export const knowLive = acceptLive;

/**
 * Do something to the project.
 * @template {Action} Kind
 * @param {Kind} action
 * @param {(action: Kind) => Promise<Action>} complete  what is sent, if that depends on what the server still has to say
 * @returns {Promise<boolean>} whether the server accepted it
 */
export function act(action, complete = async () => action) {
  return enqueue(action, async (id) => sendAction(id, await complete(action), get().frame));
}

/**
 * Have the server change the project in a way that is not foreseen here.
 * @param {(id: string) => Promise<Done>} send
 * @returns {Promise<boolean>} whether the server accepted it
 */
export const request = (send) => enqueue(null, send);

/** @param {Action | null} action @param {(id: string) => Promise<Done>} send @returns {Promise<boolean>} */
function enqueue(action, send) {
  const { id } = openProject();
  return new Promise((done) => {
    queue.push({ id, action, send: () => send(id), done });
    set({ unsaved: queue.length });
    show();
    sendAll();
  });
}

/** Wait until all that was done here has reached the server, however long that takes. @returns {Promise<void>} */
export function whenSaved() {
  return new Promise((done) => {
    if (queue.length === 0) done();
    else waiting.push(done);
  });
}

/** Send what waits, one after the other; what does not get through is sent again. */
async function sendAll() {
  if (sending) return;
  sending = true;
  for (let next = queue[0]; next !== undefined; next = queue[0]) {
    const outcome = await deliver(next.send);
    if (outcome === "unreachable") {
      set({ online: false });
      await new Promise((resume) => window.setTimeout(resume, RETRY_MS));
      continue;
    }
    queue.shift();
    set({ unsaved: queue.length });
    show();
    next.done(outcome === "accepted");
  }
  sending = false;
  for (const done of waiting.splice(0)) done();
}

/** @param {() => Promise<Done>} send @returns {Promise<"accepted" | "refused" | "unreachable">} */
async function deliver(send) {
  try {
    const { project } = await send();
    set({ online: true });
    accept(project);
    return "accepted";
  } catch (error) {
    if (error instanceof Unreachable) return "unreachable";
    complain(error);
    return "refused";
  }
}

/** Nobody leaves the page by mistake while something that was done waits for the server. */
export function guardLeaving() {
  document.addEventListener("visibilitychange", () => {
    const { project } = get();
    if (!document.hidden && project !== null) document.title = titleOf(project);
  });
  window.addEventListener("beforeunload", (event) => {
    if (queue.length > 0) event.preventDefault();
  });
}
