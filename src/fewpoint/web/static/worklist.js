/** Which studies are there, how far is each, who worked on them, and which one comes next? */

import { Refusal, cancelRun, exportAll, listQueue, listWork, openInput, sendReview } from "./api.js";
import { openKnown, openSeries } from "./chooser.js";
import { find, make } from "./dom.js";
import { attempt, complain, tell } from "./notices.js";
import { enter, knowProject } from "./session.js";
import { get, openProject, set, watch } from "./store.js";
import { myName, setMyName } from "./who.js";

/** @typedef {import("./types.js").WorkEntry} Entry */

const STATES = { new: "new", clicked: "clicked", run: "run", accepted: "accepted", rejected: "rejected", exported: "exported" };

/** @type {Entry[]} */
let entries = [];

export function setUpWorklist() {
  const search = find("work-search", HTMLInputElement);
  const filter = find("work-filter", HTMLSelectElement);
  for (const [value, label] of Object.entries({ "": "all states", ...STATES })) filter.append(new Option(label, value));
  search.addEventListener("input", fill);
  filter.addEventListener("change", fill);
  const name = find("my-name", HTMLInputElement);
  name.value = myName();
  name.addEventListener("change", () => setMyName(name.value));
  find("work-export", HTMLButtonElement).addEventListener("click", exportAccepted);
  watch(["project"], ({ project }) => {
    const { verdict, by, current } = project?.review ?? { verdict: "", by: "", current: false };
    const words = verdict === "" ? "Not checked yet." : `${verdict === "accepted" ? "Accepted" : "Rejected"}${by === "" ? "" : ` by ${by}`}`;
    const stale = verdict !== "" && !current ? "; changed since." : verdict === "" ? "" : ".";
    find("verdict", HTMLElement).textContent = `${words}${stale}`;
  });
}

export async function openWorklist() {
  const name = find("my-name", HTMLInputElement);
  name.value = myName();
  const dialog = find("worklist", HTMLDialogElement);
  if (!dialog.open) dialog.showModal();
  await refresh();
}

async function refresh() {
  const found = await attempt(() => Promise.all([listWork(), listQueue()]));
  if (found === null) return;
  const [work, queue] = found;
  entries = work;
  fill();
  showQueue(queue);
}

/** @param {import("./types.js").QueueEntry[]} queue */
function showQueue(queue) {
  const rows = queue.map(({ project, name, run, state, ahead, epoch, epochs }) => {
    const far = epochs > 0 ? `, ${Math.round((100 * epoch) / epochs)} %` : "";
    const others = ahead === 1 ? "1 other" : `${ahead} others`;
    const words = `${name}: run ${run} ${state === "waiting" ? `waits for ${others}${far}` : `is running${far}`}`;
    const stop = make("button", {
      type: "button",
      class: "quiet",
      text: "Stop",
      "aria-label": `Stop run ${run} of ${name}`,
      onclick: () => stopRun(project, run),
    });
    return make("li", {}, make("span", { text: words }), stop);
  });
  find("queue", HTMLElement).replaceChildren(...(rows.length > 0 ? rows : [make("li", { text: "No run is active or waiting." })]));
}

/** Stop a run of any study, and show the list once it has ended. @param {string} project @param {number} run */
async function stopRun(project, run) {
  if ((await attempt(() => cancelRun(project, run))) === null) return;
  while (find("worklist", HTMLDialogElement).open) {
    const queue = await attempt(listQueue);
    if (queue === null) return;
    showQueue(queue);
    if (!queue.some((each) => each.project === project && each.run === run)) break;
    await new Promise((resume) => window.setTimeout(resume, 250));
  }
  await refresh();
}

/** Those that the search and the filter leave. */
function chosen() {
  const words = find("work-search", HTMLInputElement).value.toLowerCase().split(/\s+/);
  const state = find("work-filter", HTMLSelectElement).value;
  const text = (/** @type {Entry} */ entry) => [entry.input, entry.state, ...entry.people].join(" ").toLowerCase();
  return entries.filter((entry) => (state === "" || entry.state === state) && words.every((word) => text(entry).includes(word)));
}

function fill() {
  const rows = chosen().map((entry) => {
    const isOpen = entry.project !== null && entry.project === get().project?.id;
    const open = make("button", { type: "button", class: "quiet", text: entry.input, onclick: () => openStudy(entry) });
    const health = entry.health === null ? "" : entry.health.toFixed(2);
    const cells = [entry.people.join(", "), entry.points, entry.runs, health].map((text) => make("td", { text: String(text) }));
    const state = make("td", {}, make("span", { class: `state ${entry.state}`, text: STATES[entry.state] }));
    return make("tr", { class: isOpen ? "chosen" : "" }, make("td", {}, open), state, ...cells);
  });
  const nothing = make("tr", {}, make("td", { colspan: 6, text: "Nothing here." }));
  find("work-rows", HTMLElement).replaceChildren(...(rows.length > 0 ? rows : [nothing]));
}

/** @param {Entry} entry */
async function openStudy({ input, project }) {
  try {
    if (project === null) enter(await openInput({ input }));
    else if (!(await openKnown(project))) return;
    find("worklist", HTMLDialogElement).close();
  } catch (error) {
    if (!(error instanceof Refusal) || !error.message.includes("one series")) return complain(error);
    find("worklist", HTMLDialogElement).close();
    openSeries(input);
  }
}

/** To the next or the previous study of the list. @param {1 | -1} step */
export async function goToStudy(step) {
  const work = await attempt(listWork);
  if (work === null) return;
  entries = work;
  const list = chosen();
  const here = list.findIndex((entry) => entry.project === get().project?.id);
  const next = list[here + step];
  if (here === -1 || next === undefined) return tell(step > 0 ? "This is the last study." : "This is the first study.");
  set({ playing: false });
  await openStudy(next);
}

/** @param {"" | "accepted" | "rejected"} verdict */
export async function judge(verdict) {
  const project = await attempt(() => sendReview(openProject().id, verdict));
  if (project !== null) knowProject(project);
}

async function exportAccepted() {
  const format = find("work-format", HTMLSelectElement).value;
  const words = find("work-exported", HTMLElement);
  words.textContent = "Writing…";
  const exported = await attempt(() => exportAll(format));
  words.textContent = exported === null ? "" : `Written: ${exported.map(({ path }) => path).join(", ")}`;
  if (exported !== null) refresh();
}
