/** How does what a person does reach the server, in order and without loss, and what others do reach the page? */

import { Unreachable, readProject, readUncertainty, sendAction } from "./api.js";
import { listen } from "./events.js";
import { foresee } from "./foresight.js";
import { announce, complain, tell } from "./notices.js";
import { get, openProject, set, shownRun } from "./store.js";

/** @typedef {import("./types.js").Action} Action */
/** @typedef {import("./types.js").ProjectMessage} Project */
/** @typedef {import("./types.js").RunMessage} Run */

const RETRY_MS = 1000;

/** The project as the server last reported it. @type {Project | null} */
let confirmed = null;
/**
 * What was done here and is not confirmed yet, in order; opening another project does not drop it.
 * @typedef {(action: any) => Promise<Action>} Complete
 * @type {{id: string, action: Action, complete: Complete, done: (accepted: boolean) => void}[]}
 */
const queue = [];
let sending = false;
/** @type {() => void} */
let stopListening = () => {};

/** Show a project and follow it from now on. @param {Project} project */
export function enter(project) {
  stopListening();
  confirmed = project;
  history.replaceState(null, "", `#project=${encodeURIComponent(project.id)}`);
  document.title = `${project.name} · fewpoint`;
  set({
    project,
    frame: firstFrame(project),
    object: project.objects[0]?.name ?? "",
    window: project.is_grey ? { low: project.window.low, high: project.window.high } : null,
    cursor: { y: Math.floor(project.height / 2), x: Math.floor(project.width / 2) },
    keyboardCursor: false,
    playing: false,
    preview: null,
    uncertainty: null,
  });
  refreshUncertainty();
  stopListening = listen(project.id, {
    onEvent: hear,
    onOpen: () => {
      set({ online: true });
      refresh();
      send();
    },
    onLost: () => set({ online: false }),
  });
}

/** Where a person left off: the frame of the last point, or the first one. @param {Project} project */
function firstFrame(project) {
  return project.objects.flatMap((object) => object.points).at(-1)?.frame ?? 0;
}

/** @param {import("./types.js").Event} event */
function hear(event) {
  if (event.kind === "project") accept(event.project);
  else if (event.kind === "run") acceptRun(event.run);
  else if (event.kind === "live") acceptLive(event.live);
  else if (event.kind === "preview") acceptPreview(event.run);
}

/** @param {number} id */
function acceptPreview(id) {
  const { epoch, epochs } = confirmed?.runs.find((run) => run.id === id) ?? { epoch: 0, epochs: 0 };
  set({ preview: { run: id, count: (get().preview?.count ?? 0) + 1, share: epochs > 0 ? epoch / epochs : 0 } });
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
    (known, { id, action }, index) => (id === known.id ? foresee(known, action, index) : known),
    confirmed,
  );
  const names = project.objects.map((object) => object.name);
  const object = names.includes(get().object) ? get().object : (names.at(-1) ?? "");
  set({ project, object, frame: Math.min(get().frame, project.frames - 1) });
  if (doubtKey(project) !== before) refreshUncertainty();
}

/** @param {Run} run */
function announceRun(run) {
  if (run.state === "finished" && run.refined_from !== null && openProject().live.on) announce("The masks are learnt.");
  else if (run.state === "finished") tell("The masks are ready.");
  if (run.state === "cancelled") tell(run.best ? "Stopped. The best masks so far are kept." : "Stopped.");
  if (run.state === "failed") complain(new Error(run.error || "The run failed without saying why."));
}

/** All that doubt depends on: the masks, and what was said since. @param {Project | null} project */
function doubtKey(project) {
  return JSON.stringify([shownRun()?.id, project?.version]);
}

/** How sure the shown masks are on each frame. */
async function refreshUncertainty() {
  const run = shownRun();
  if (run === null) return set({ uncertainty: null });
  try {
    const uncertainty = await readUncertainty(openProject().id, run.id);
    if (shownRun()?.id === run.id) set({ uncertainty });
  } catch (error) {
    if (!(error instanceof Unreachable)) complain(error);
  }
}

/** Take over what a request for a run answered. @param {Run} run */
export const knowRun = acceptRun;
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
  return new Promise((done) => {
    queue.push({ id: openProject().id, action, complete, done });
    set({ unsaved: queue.length });
    show();
    send();
  });
}

/** Send what waits, one after the other; what does not get through is sent again. */
async function send() {
  if (sending) return;
  sending = true;
  for (let next = queue[0]; next !== undefined; next = queue[0]) {
    const outcome = await deliver(next.id, () => next.complete(next.action));
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
}

/**
 * @param {string} id
 * @param {() => Promise<Action>} complete
 * @returns {Promise<"accepted" | "refused" | "unreachable">}
 */
async function deliver(id, complete) {
  try {
    const { project } = await sendAction(id, await complete());
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
  window.addEventListener("beforeunload", (event) => {
    if (queue.length > 0) event.preventDefault();
  });
}
