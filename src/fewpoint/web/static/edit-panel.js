/** Which changes of a whole mask can be asked for by name? */

import { sendEdit, sendImport, uploadFiles } from "./api.js";
import { find } from "./dom.js";
import { announce, attempt, tell } from "./notices.js";
import { act, request } from "./session.js";
import { currentObject, get, set, watch } from "./store.js";

export function setUpEdits() {
  for (const button of document.querySelectorAll("[data-edit]")) {
    const edit = button.getAttribute("data-edit") ?? "";
    const value = Number(button.getAttribute("data-value") ?? 0);
    button.addEventListener("click", () => change(edit, value));
  }
  const threshold = find("threshold", HTMLInputElement);
  const shown = find("threshold-value", HTMLOutputElement);
  threshold.addEventListener("input", () => {
    shown.value = Number(threshold.value).toFixed(2);
  });
  threshold.addEventListener("change", () => change("threshold", Number(threshold.value)));
  const ball = find("ball", HTMLInputElement);
  ball.addEventListener("change", () => set({ ball: ball.checked }));
  watch(["tool", "project"], ({ tool, project }) => {
    find("ball-row", HTMLElement).hidden = (tool !== "brush" && tool !== "eraser") || project?.kind !== "volume";
  });
  setUpRange();
  setUpImport();
}

/** @param {string} edit @param {number} value */
async function change(edit, value) {
  const { object, frame } = get();
  if (currentObject() === null) return;
  const everywhere = find("edit-everywhere", HTMLInputElement).checked;
  const accepted = await request((id) => sendEdit(id, { object, edit, frame, everywhere, value }));
  if (accepted) announce(`Mask of ${object} changed.`);
}

/** That the object is not on a stretch of frames. */
function setUpRange() {
  const [first, last] = [find("absent-first", HTMLInputElement), find("absent-last", HTMLInputElement)];
  const mark = (/** @type {boolean} */ absent) => {
    const { object, project } = get();
    const [from, to] = [Math.trunc(Number(first.value)), Math.trunc(Number(last.value))];
    const most = (project?.frames ?? 1) - 1;
    if (first.value === "" || last.value === "" || Math.min(from, to) < 0 || Math.max(from, to) > most)
      return tell(`Give two frames from 0 to ${most}.`);
    act({ kind: "mark_absent", object, frame: Math.min(from, to), last: Math.max(from, to), absent });
  };
  find("absent-range", HTMLButtonElement).addEventListener("click", () => mark(true));
  find("present-range", HTMLButtonElement).addEventListener("click", () => mark(false));
}

function setUpImport() {
  const files = find("import-file", HTMLInputElement);
  find("import-button", HTMLButtonElement).addEventListener("click", () => files.click());
  files.addEventListener("change", async () => {
    const chosen = [...(files.files ?? [])];
    files.value = "";
    if (chosen.length === 0) return;
    const lot = await attempt(() => uploadFiles(chosen));
    if (lot !== null) takeOver(lot.path);
  });
  const own = find("import-own", HTMLButtonElement);
  own.addEventListener("click", () => takeOver(null));
  watch(["project"], ({ project }) => {
    own.hidden = !project?.own_points;
  });
}

/** @param {string | null} path */
async function takeOver(path) {
  const { object } = get();
  if (await request((id) => sendImport(id, { object, path }))) tell("Imported.");
}
