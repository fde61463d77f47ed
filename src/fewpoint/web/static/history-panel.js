/** Which results have there been, what were they told, how good do they seem, and which one is shown? */

import { planeOf } from "./anatomy.js";
import { chooseRun, deleteExport, deleteRun, deleteUpload, frameAddress, readAgreement, readMask, readStorage } from "./api.js";
import { bytes } from "./chooser.js";
import { context2d, find, make } from "./dom.js";
import { openExport } from "./export-dialog.js";
import { attempt } from "./notices.js";
import { decodeRuns, colourMask } from "./pixels.js";
import { duration } from "./run-panel.js";
import { knowProject } from "./session.js";
import { currentObject, get, openProject, results, set, shownRun, showsRun, watch } from "./store.js";
import { fitView, inImage } from "./view.js";

/** @typedef {import("./types.js").RunMessage} Run */

const PICTURE = { width: 132, height: 100 };

export function setUpHistory() {
  const dialog = find("history", HTMLDialogElement);
  watch(["project", "compared", "object"], () => {
    if (dialog.open) fill();
    showCompared();
  });
  find("compared-end", HTMLButtonElement).addEventListener("click", () => set({ compared: null }));
}

export async function openHistory() {
  find("history", HTMLDialogElement).showModal();
  fill();
  storage = await attempt(() => readStorage(openProject().id));
  filled = "";
  fill();
  showStorage();
}

/** Exports, and the input if it was sent here, with what they take. */
function showStorage() {
  const { id, name } = openProject();
  const row = (/** @type {string} */ what, /** @type {number} */ size, /** @type {() => Promise<void>} */ remove) =>
    make(
      "li",
      {},
      make("span", { text: `${what}: ${bytes(size)}` }),
      make("button", {
        type: "button",
        class: "quiet",
        text: "Delete",
        "aria-label": `Delete ${what}`,
        onclick: () => window.confirm(`Delete ${what} for good?`) && remove(),
      }),
    );
  const exports = Object.entries(storage?.exports ?? {}).map(([each, size]) =>
    row(`export ${each}`, size, async () => {
      storage = (await attempt(() => deleteExport(id, each))) ?? storage;
      showStorage();
    }),
  );
  const upload = storage?.upload ?? null;
  const sent =
    upload === null
      ? []
      : [
          row(`what was sent as ${name}, with its project`, upload, async () => {
            if ((await attempt(() => deleteUpload(id))) !== null) location.assign("/");
          }),
        ];
  find("storage", HTMLElement).replaceChildren(...exports, ...sent);
}

/** What runs take on disk. @type {import("./types.js").StorageMessage | null} */
let storage = null;

/** @param {Run} run */
async function removeRun(run) {
  const project = await attempt(() => deleteRun(openProject().id, run.id));
  if (project !== null) knowProject(project);
}

/** What the list was last filled with, so that news of a run's progress does not build it again. */
let filled = "";

function fill() {
  const { project, compared, object } = get();
  if (project === null) return;
  const runs = results().filter((run) => !["running", "waiting", "deleted"].includes(run.state)).toReversed();
  const isLive = Object.keys(project.live.shown).length > 0 && !showsRun();
  const content = JSON.stringify([project.id, project.shown, isLive, compared, object, runs]);
  if (content === filled) return;
  filled = content;
  const nothing = make("li", { class: "nothing", text: "There are no masks yet." });
  const cards = [...(isLive ? [liveCard()] : []), ...runs.map(card)];
  find("history-list", HTMLElement).replaceChildren(...(cards.length > 0 ? cards : [nothing]));
}

/** What is shown now and is not kept yet. */
function liveCard() {
  const about = make(
    "div",
    { class: "about" },
    make("strong", { text: "Live preview, shown now" }),
    make("p", { class: "small", text: "It follows your clicks. It is kept here once it is exported or accepted, or others take its place." }),
    make("div", { class: "row" }, make("button", { type: "button", text: "Export…", onclick: () => openExport() })),
  );
  return make("li", { class: "result chosen", "data-run": "live" }, about);
}

/** @param {Run} run */
function card(run) {
  const isShown = shownRun()?.id === run.id && showsRun();
  const canvas = make("canvas", { width: PICTURE.width, height: PICTURE.height, role: "img", "aria-label": `Mask of ${named(run.id)}` });
  if (run.best) drawPicture(canvas, run);
  const button = (/** @type {string} */ text, /** @type {() => void} */ onclick, off = false) =>
    make("button", { type: "button", text, onclick, disabled: off });
  const buttons = run.best
    ? [
        button(isShown ? "Shown now" : "Show this one", () => choose(run), isShown),
        button(get().compared === run.id ? "Being compared" : "Compare", () => compare(run), isShown || get().compared === run.id),
        button("Export…", () => openExport(run)),
      ]
    : [];
  const size = storage?.runs[String(run.id)];
  const remove = () => window.confirm(`Delete ${named(run.id)} for good?`) && removeRun(run);
  buttons.push(button(size === undefined ? "Delete" : `Delete (${bytes(size)})`, remove));
  return make(
    "li",
    { class: `result ${run.state}${isShown ? " chosen" : ""}`, "data-run": run.id },
    canvas,
    make(
      "div",
      { class: "about" },
      make("strong", { text: title(run) }),
      make("p", { class: "small", text: `${ending(run)} Used: ${run.words || "not known"}.` }),
      ...Object.entries(run.figures).map(([name, figures]) => make("p", { text: `${name}: ${inWords(figures)}` })),
      ...run.notes.map((note) => make("p", { class: "warning", text: note })),
      make("div", { class: "row" }, ...buttons),
    ),
  );
}

/** @param {Run} run */
function title(run) {
  const when = run.started_at === null ? "" : `, ${new Date(run.started_at).toLocaleString()}`;
  if (isAnswer(run)) return `Live preview ${run.id}${run.refined_from === null ? "" : `, after run ${run.refined_from}`}${when}`;
  return `Run ${run.id}${run.refined_from === null ? "" : `, refined from run ${run.refined_from}`}${when}`;
}

/** Whether these masks were answered live. @param {Run} run */
const isAnswer = (run) => openProject().answers.includes(run);

/** What a result is called in a sentence. @param {number} id */
const named = (id) => `${openProject().answers.some((each) => each.id === id) ? "live preview" : "run"} ${id}`;

/** @param {Run} run */
function ending(run) {
  if (isAnswer(run)) return "Answered at once.";
  if (run.state === "finished") return `Took ${duration(run.seconds)}.`;
  if (run.state === "failed") return `Failed: ${run.error}.`;
  return `${run.state === "cancelled" ? "Stopped" : "Interrupted"} after ${duration(run.seconds)}.`;
}

/** @param {import("./types.js").FigureMessage} figures */
function inWords({ pixels, volume_ml: volume, health }) {
  const size = volume === null ? `${pixels} pixels in all` : `${Number(volume.toPrecision(3))} ml`;
  return `${size}${health === null ? "" : `, quality check ${health.toFixed(2)}`}`;
}

/** The frame on which the object in view is largest, with its mask. @param {HTMLCanvasElement} canvas @param {Run} run */
async function drawPicture(canvas, run) {
  const project = openProject();
  const thing = project.objects.find((each) => each.name === get().object && each.name in run.figures) ?? project.objects.find((each) => each.name in run.figures);
  if (thing === undefined) return;
  const index = run.figures[thing.name].largest;
  const which = { run: run.id, number: thing.number, axis: 0, index };
  const found = await attempt(() => Promise.all([readMask(project.id, which), loadImage(frameAddress(project, index, get().window))]));
  if (found === null) return;
  const [{ runs, size }, picture] = found;
  const mask = make("canvas", { width: size[1], height: size[0] });
  context2d(mask).putImageData(colourMask(decodeRuns(runs, size[0] * size[1]), size[1], thing.colour), 0, 0);
  const plane = planeOf(project, 0);
  const context = context2d(canvas);
  context.translate(-10, -10); // the margin that a view leaves is not needed here
  inImage(context, fitView(plane.turn, { width: PICTURE.width + 20, height: PICTURE.height + 20 }, plane.aspect), () => {
    context.drawImage(picture, 0, 0, size[1], size[0]);
    context.globalAlpha = 0.55;
    context.drawImage(mask, 0, 0);
  });
}

/** @param {string} address @returns {Promise<HTMLImageElement>} */
function loadImage(address) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => resolve(image);
    image.onerror = () => reject(new Error("A picture could not be loaded."));
    image.src = address;
  });
}

/** @param {Run} run */
async function choose(run) {
  const project = await attempt(() => chooseRun(openProject().id, run.id));
  if (project !== null) knowProject(project);
  if (get().compared === run.id) set({ compared: null });
}

/** Go back to the masks that the last refinement went on from. */
export async function undoRefinement() {
  const run = shownRun();
  if (run === null || run.refined_from === null) return;
  const project = await attempt(() => chooseRun(openProject().id, /** @type {number} */ (run.refined_from)));
  if (project !== null) knowProject(project);
}

/** @param {Run} run */
function compare(run) {
  set({ compared: run.id });
  find("history", HTMLDialogElement).close();
}

/** What the dashed outline is, and how far the two agree. */
async function showCompared() {
  const { compared } = get();
  const object = currentObject();
  const bar = find("compared", HTMLElement);
  const stamp = object === null ? undefined : openProject().live.shown[object.name]?.stamp;
  bar.hidden = compared === null || stamp === undefined;
  if (compared === null || stamp === undefined || object === null) return;
  const words = find("compared-words", HTMLElement);
  const key = JSON.stringify([compared, stamp, openProject().version, object.number]);
  if (words.dataset.key === key) return;
  words.dataset.key = key;
  const full = showsRun() ? named(openProject().shown ?? 0) : "live preview";
  words.textContent = `Dashed: ${named(compared)}. Full line: ${full}.`;
  const answer = await attempt(() => readAgreement(openProject().id, { other: compared, number: object.number }));
  if (answer === null || words.dataset.key !== key) return;
  const { dice } = answer;
  words.textContent += dice === null ? " Both are empty." : ` Dice ${dice.toFixed(2)}.`;
}
