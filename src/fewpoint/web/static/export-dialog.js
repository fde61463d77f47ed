/** In which format do the masks leave, and where are they then? */

import { exportAddress, exportRun, listFormats, projectFileAddress, readProject, storeRun } from "./api.js";
import { find, make } from "./dom.js";
import { attempt } from "./notices.js";
import { duration } from "./run-panel.js";
import { knowProject } from "./session.js";
import { activeRun, get, openProject, showsRun, watch } from "./store.js";

/** @typedef {import("./types.js").FormatEntry} Format */

/** The format that is chosen at first, by what the input's name ends with. @type {[RegExp, string][]} */
const OWN = [
  [/\.nii(\.gz)?$/i, "nifti"],
  [/\.(nrrd|nhdr)$/i, "nrrd"],
  [/\.(mha|mhd)$/i, "mha"],
  [/\.tiff?$/i, "tiff"],
  [/\.zarr$/i, "zarr"],
];

const LOOK_MS = 200;

export function setUpExport() {
  find("export-form", HTMLFormElement).addEventListener("submit", (event) => {
    event.preventDefault();
    write();
  });
  find("store-button", HTMLButtonElement).addEventListener("click", storeInPacs);
  watch(["project"], showBehind);
}

/** The last run that was learnt to its end, if there is one. */
const learntRun = () => get().project?.runs.findLast(({ state, best }) => state === "finished" && best) ?? null;

/** Whether masks that know more than those of the last run are being learnt. */
function isBehind() {
  const { project } = get();
  return project !== null && project.live.on && (activeRun() !== null || project.live.due);
}

/** Whether masks of further frames follow those that are shown. */
function isPartly() {
  const { project } = get();
  return project !== null && (project.live.partly || project.live.view !== null) && ["starting", "ready"].includes(project.live.state);
}

/** That what was learnt can be written in the place of what is shown, and how long learning takes. */
function showBehind() {
  if (get().project === null) return;
  const run = activeRun();
  const learnt = learntRun();
  const isOther = learnt !== null && !(openProject().shown === learnt.id && showsRun());
  find("export-behind", HTMLElement).hidden = chosen !== null || !(isBehind() || isOther);
  const left = run?.seconds_left ?? null;
  const time = left === null ? "" : `, ${duration(left)}`;
  const words = run === null ? "starts in a moment" : `is running${time}`;
  find("export-behind-words", HTMLElement).textContent = isBehind()
    ? `Training on your latest marks ${words}; the masks are written when it is done.`
    : `Those of run ${learnt?.id ?? 1}, without your marks since.`;
}

/** @param {() => boolean} holds */
async function waitWhile(holds) {
  while (holds()) await new Promise((resume) => window.setTimeout(resume, LOOK_MS));
}

/** Waits until nothing is being learnt any more, and the page knows which masks are shown then. @param {string} id */
async function caughtUp(id) {
  if (!isBehind()) return;
  await waitWhile(isBehind);
  // That a run has ended is told before the news that its masks are shown.
  const project = await attempt(() => readProject(id));
  if (project !== null) knowProject(project);
}

/** The result to export, if another one than what is shown. @type {import("./types.js").RunMessage | null} */
let chosen = null;

/** @param {import("./types.js").RunMessage} [run]  what is shown unless one is given */
export async function openExport(run) {
  chosen = run ?? null;
  const answers = openProject().answers.some(({ id }) => id === chosen?.id);
  find("export-title", HTMLElement).textContent = chosen === null ? "Export" : `Export ${answers ? "live preview" : "run"} ${chosen.id}`;
  const isShown = chosen !== null || Object.keys(openProject().live.shown).length > 0 || openProject().objects.some(({ brushed }) => brushed.length > 0);
  find("export-none", HTMLElement).hidden = isShown;
  find("export-form", HTMLElement).hidden = !isShown;
  find("export-learnt", HTMLInputElement).checked = false;
  showBehind();
  find("exported", HTMLElement).replaceChildren();
  find("store-button", HTMLElement).hidden = find("pacs-part", HTMLElement).hidden || !openProject().from_pacs;
  find("project-file", HTMLAnchorElement).href = projectFileAddress(openProject().id);
  find("export", HTMLDialogElement).showModal();
  const formats = isShown ? await attempt(listFormats) : null;
  if (formats === null) return;
  const own = OWN.find(([ending]) => ending.test(openProject().input))?.[1];
  const usable = formats.filter((format) => format.available);
  const first = usable.find((format) => format.name === own) ?? usable[0];
  find("formats", HTMLElement).replaceChildren(...formats.map((format) => choice(format, format === first)));
  if (first !== undefined) offerProbabilities(first);
}

/** Probabilities can be had in a format that holds them. @param {Format} format */
function offerProbabilities({ label, probabilities }) {
  const box = find("export-probabilities", HTMLInputElement);
  box.disabled = !probabilities;
  box.checked &&= probabilities;
  box.title = probabilities ? "" : `${label} holds masks only`;
}

/** @param {Format} format @param {boolean} chosen */
function choice(format, chosen) {
  const input = make("input", {
    type: "radio",
    name: "format",
    value: format.name,
    disabled: !format.available,
    checked: chosen,
    onchange: () => offerProbabilities(format),
  });
  const words = make(
    "span",
    {},
    make("strong", { text: format.label }),
    make("small", { text: format.available ? "" : format.needs }),
  );
  return make("label", { class: format.available ? "format" : "format missing" }, input, words);
}

/**
 * Do something with the masks that are shown, or with those that were learnt or chosen in their place.
 * @template T
 * @param {string} name  of the button that asked
 * @param {(id: string, run: number | null) => Promise<T>} what  run: null for what is shown
 * @returns {Promise<{id: string, done: T} | null>}
 */
async function withMasks(name, what) {
  const { id } = openProject();
  const button = find(name, HTMLButtonElement);
  const onlyLearnt = find("export-learnt", HTMLInputElement).checked && chosen === null;
  button.disabled = true;
  if (onlyLearnt) await caughtUp(id);
  else await waitWhile(isPartly);
  const run = onlyLearnt ? learntRun() : chosen;
  const done = openProject().id === id ? await attempt(() => what(id, run?.id ?? null)) : null;
  button.disabled = false;
  return done === null ? null : { id, done };
}

async function storeInPacs() {
  const stored = await withMasks("store-button", storeRun);
  if (stored === null) return;
  const words = stored.done.is_new ? "Stored in the PACS: series " : "These masks are in the PACS already: series ";
  find("exported", HTMLElement).replaceChildren(make("p", {}, words, make("code", { text: stored.done.series })));
}

async function write() {
  const format = new FormData(find("export-form", HTMLFormElement)).get("format");
  if (typeof format !== "string") return;
  const probabilities = find("export-probabilities", HTMLInputElement).checked;
  const written = await withMasks("export-button", (id, run) => exportRun(id, run, { format, probabilities }));
  if (written === null) return;
  const { id, done: exported } = written;
  const count = exported.files.length === 1 ? exported.files[0] : `${exported.files.length} files`;
  find("exported", HTMLElement).replaceChildren(
    make("p", {}, `Written: ${count} in `, make("code", { text: exported.path }), " on the server."),
    make("a", { class: "button primary", href: exportAddress(id, exported.name), download: "", text: "Download" }),
  );
}
