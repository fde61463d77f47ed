/** In which format do the masks leave, and where are they then? */

import { exportAddress, exportRun, listFormats, projectFileAddress } from "./api.js";
import { find, make } from "./dom.js";
import { attempt } from "./notices.js";
import { duration } from "./run-panel.js";
import { activeRun, get, openProject, shownRun, watch } from "./store.js";

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
  watch(["project"], showBehind);
}

/** Whether masks that know more than those of the last run are on their way. */
function isBehind() {
  const { project } = get();
  return project !== null && project.live.on && (activeRun() !== null || project.live.due);
}

/** In live mode: that what was said last is still being learnt, and how long that will take. */
function showBehind() {
  const run = activeRun();
  find("export-behind", HTMLElement).hidden = !isBehind() || shownRun() === null;
  const left = run?.seconds_left ?? null;
  const time = left === null ? "" : `, ${duration(left)}`;
  find("export-behind-words", HTMLElement).textContent =
    run === null
      ? "Learning from your last words begins in a moment."
      : `Learning from your last words is under way${time}.`;
}

/** Waits until nothing is being learnt any more. @returns {Promise<void>} */
function caughtUp() {
  return new Promise((done) => {
    const look = () => (isBehind() ? window.setTimeout(look, LOOK_MS) : done());
    look();
  });
}

export async function openExport() {
  const run = shownRun();
  find("export-none", HTMLElement).hidden = run !== null;
  find("export-form", HTMLElement).hidden = run === null;
  find("export-wait", HTMLInputElement).checked = true;
  showBehind();
  find("exported", HTMLElement).replaceChildren();
  find("project-file", HTMLAnchorElement).href = projectFileAddress(openProject().id);
  find("export", HTMLDialogElement).showModal();
  const formats = run === null ? null : await attempt(listFormats);
  if (formats === null) return;
  const own = OWN.find(([ending]) => ending.test(openProject().input))?.[1];
  const usable = formats.filter((format) => format.available);
  const first = usable.find((format) => format.name === own) ?? usable[0];
  find("formats", HTMLElement).replaceChildren(...formats.map((format) => choice(format, format === first)));
}

/** @param {Format} format @param {boolean} chosen */
function choice(format, chosen) {
  const input = make("input", {
    type: "radio",
    name: "format",
    value: format.name,
    disabled: !format.available,
    checked: chosen,
  });
  const words = make(
    "span",
    {},
    make("strong", { text: format.label }),
    make("small", { text: format.available ? "" : format.needs }),
  );
  return make("label", { class: format.available ? "format" : "format missing" }, input, words);
}

async function write() {
  const chosen = new FormData(find("export-form", HTMLFormElement)).get("format");
  if (shownRun() === null || typeof chosen !== "string") return;
  const { id } = openProject();
  const button = find("export-button", HTMLButtonElement);
  button.disabled = true;
  if (find("export-wait", HTMLInputElement).checked) await caughtUp();
  const run = openProject().id === id ? shownRun() : null;
  const exported = run === null ? null : await attempt(() => exportRun(id, run.id, chosen));
  button.disabled = false;
  if (exported === null) return;
  const count = exported.files.length === 1 ? exported.files[0] : `${exported.files.length} files`;
  find("exported", HTMLElement).replaceChildren(
    make("p", {}, `Written: ${count} in `, make("code", { text: exported.path }), " on the server."),
    make("a", { class: "button primary", href: exportAddress(id, exported.name), download: "", text: "Download" }),
  );
}
