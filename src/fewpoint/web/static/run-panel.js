/** Is there a run, how far is it, and what became of the last one? */

import { cancelRun, resumeRun, startRun } from "./api.js";
import { percent } from "./curve.js";
import { find, make } from "./dom.js";
import { askToNotify, attempt, tell } from "./notices.js";
import { act, knowRun, whenSaved } from "./session.js";
import { activeRun, get, openProject, shownRun, watch } from "./store.js";

/** @typedef {import("./types.js").RunMessage} Run */

/** A run was asked for and has not begun yet: what was done before must reach the server first. */
let isDue = false;

/** Start a run, once what was done has reached the server. @param {boolean} refine */
export async function beginRun(refine) {
  const { project, unsaved, online } = get();
  if (project === null || isDue) return;
  if (!project.objects.some((object) => object.points.some((point) => point.positive))) {
    return tell("Click on the object on a few frames first.");
  }
  askToNotify();
  if (unsaved > 0 && !online) tell("The run begins when the server is back and has received your last clicks.");
  isDue = true;
  await whenSaved();
  if (get().project?.id === project.id && activeRun() === null) await start(project.id, refine);
  isDue = false;
}

/** @param {string} id  of the project @param {boolean} refine */
async function start(id, refine) {
  const what = {
    refine,
    warm_start: !refine && find("warm-start", HTMLInputElement).checked,
    added: refine ? [] : find("added", HTMLInputElement).value.split(",").map((path) => path.trim()).filter((path) => path !== ""),
  };
  const run = await attempt(() => startRun(id, what));
  if (run !== null) knowRun(run);
}

export function setUpRunPanel() {
  const preset = find("preset", HTMLSelectElement);
  const seed = find("seed", HTMLInputElement);
  const change = () =>
    act({ kind: "set_settings", preset: preset.value, seed: Math.max(0, Math.trunc(Number(seed.value)) || 0) });
  preset.addEventListener("change", change);
  seed.addEventListener("change", change);
  find("cancel", HTMLButtonElement).addEventListener("click", cancel);
  find("resume", HTMLButtonElement).addEventListener("click", resume);
  setUpSettings();
  watch(["project"], ({ project }) => {
    if (project === null) return;
    const { preset: name, seed: number } = project.settings;
    if (![...preset.options].some((option) => option.value === name)) preset.append(new Option(name, name));
    preset.value = name;
    if (document.activeElement !== seed) seed.value = String(number);
    showActive(activeRun());
    showLast(project.runs);
    find("resume", HTMLElement).hidden = cutShort() === null || activeRun() !== null;
  });
  watch(["project", "object"], showTrust);
}

function setUpSettings() {
  const button = find("settings-button", HTMLButtonElement);
  const settings = find("settings", HTMLElement);
  button.addEventListener("click", () => {
    settings.hidden = !settings.hidden;
    button.setAttribute("aria-expanded", String(!settings.hidden));
  });
}

async function cancel() {
  const active = activeRun();
  if (active === null) return;
  const run = await attempt(() => cancelRun(openProject().id, active.id));
  if (run !== null) knowRun(run);
}

/** The last run, if it was interrupted: by a crash, or because the server was stopped. */
function cutShort() {
  const last = openProject().runs.at(-1);
  return last?.state === "interrupted" || last?.state === "failed" ? last : null;
}

async function resume() {
  const stopped = cutShort();
  if (stopped === null) return;
  const run = await attempt(() => resumeRun(openProject().id, stopped.id));
  if (run !== null) knowRun(run);
}

/** @param {Run | null} run */
function showActive(run) {
  find("progress", HTMLElement).hidden = run === null;
  find("run-buttons", HTMLElement).hidden = run !== null;
  if (run === null) return;
  const bar = find("progress-bar", HTMLProgressElement);
  if (run.state === "running" && run.epochs > 0) {
    bar.max = run.epochs;
    bar.value = run.epoch;
  } else bar.removeAttribute("value");
  find("phase", HTMLElement).textContent = phaseInWords(run);
  find("run-message", HTMLElement).textContent = run.state === "waiting" ? "" : run.message;
  find("epoch", HTMLElement).textContent = run.epochs > 0 ? `${Math.round((100 * run.epoch) / run.epochs)} %` : "";
  find("time-left", HTMLElement).textContent =
    run.seconds_left === null ? "" : `about ${duration(run.seconds_left)} left`;
}

/** @param {Run} run */
function phaseInWords(run) {
  if (run.state === "waiting" && run.ahead > 0) {
    return `${run.ahead} ${run.ahead === 1 ? "run" : "runs"} ahead of this one`;
  }
  if (run.state === "waiting") return "Starts in a moment";
  if (run.epoch < run.epochs) return "Training";
  const phase = run.phase || "Begins";
  return phase.charAt(0).toUpperCase() + phase.slice(1);
}

/** What became of the last run that has ended. @param {Run[]} runs */
function showLast(runs) {
  const last = runs.findLast((run) => !["running", "waiting", "deleted"].includes(run.state));
  const list = find("runs", HTMLElement);
  list.hidden = last === undefined;
  if (last === undefined) return;
  list.replaceChildren(make("li", { class: last.state, text: sentence(last), title: last.error || null }));
}

/** What is known of the masks shown, and what to know before trusting them. */
function showTrust() {
  const { project, object } = get();
  const notes = [...(project?.notes ?? []), ...((activeRun() ?? shownRun())?.notes ?? [])];
  const content = JSON.stringify(notes);
  const list = find("warnings", HTMLElement);
  list.hidden = notes.length === 0;
  if (list.dataset.content !== content) {
    list.dataset.content = content;
    list.replaceChildren(...notes.map((note) => make("li", { class: "warning", text: sentenceCase(note) })));
  }
  const health = shownRun()?.figures[object]?.health ?? null;
  const label = find("health", HTMLElement);
  label.hidden = health === null;
  if (health !== null) label.textContent = `Quality check of ${object}: ${health.toFixed(2)}, ${healthInWords(health)}.`;
}

/** @param {number} health */
function healthInWords(health) {
  if (health >= 0.75) return "looks good";
  return health >= 0.5 ? "review uncertain frames" : "review closely, it may be wrong";
}

/** @param {string} text */
const sentenceCase = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;

/** @param {Run} run */
function sentence(run) {
  const kind = run.refined_from === null ? "Run" : "Refined";
  const ending = {
    finished: `${duration(run.seconds)}`,
    cancelled: run.best ? "stopped, the masks so far are kept" : "stopped",
    failed: `failed: ${run.error}`,
    interrupted: run.best ? "interrupted, the masks so far are kept" : "interrupted",
    deleted: "deleted",
    running: "",
    waiting: "",
  }[run.state];
  const stale = run.state === "finished" && get().project?.runs.at(-1) === run ? changedSince(run) : "";
  const priors = run.priors?.[get().object];
  const share = priors && run.state === "finished" ? `, at most ${percent(Math.max(...priors))} of a frame` : "";
  return `${kind} ${run.id}: ${ending}${share}${stale}`;
}

/** @param {Run} run */
function changedSince(run) {
  return openProject().version > run.version ? "; changed since" : "";
}

/** @param {number} seconds */
export function duration(seconds) {
  const whole = Math.max(1, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
