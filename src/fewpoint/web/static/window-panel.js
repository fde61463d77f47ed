/** Which grey values are black and white? Chosen by name or by number, and kept with the project. */

import { keepLook } from "./api.js";
import { find } from "./dom.js";
import { attempt } from "./notices.js";
import { get, openProject, set, watch } from "./store.js";

const OWN = "own";
const FILE = "file";
const SETTLED_MS = 600;

/** @param {Record<string, [number, number]>} presets  level and width by name */
export function setUpWindow(presets) {
  const choice = find("window-preset", HTMLSelectElement);
  const level = find("window-level", HTMLInputElement);
  const width = find("window-width", HTMLInputElement);
  choice.append(new Option("as the file", FILE));
  for (const name of Object.keys(presets)) choice.append(new Option(name, name));
  choice.append(new Option("own", OWN));
  choice.addEventListener("change", () => {
    const { low, high } = openProject().window;
    if (choice.value === FILE) set({ window: { low, high } });
    else if (choice.value !== OWN) set({ window: fromLevel(...presets[choice.value]) });
    choice.blur();
  });
  for (const field of [level, width]) {
    field.addEventListener("change", () => {
      const [middle, wide] = [Number(level.value), Number(width.value)];
      if (Number.isFinite(middle) && wide > 0) set({ window: fromLevel(middle, wide) });
    });
  }
  watch(["window", "project"], ({ window: shown, project }) => {
    find("window-row", HTMLElement).hidden = shown === null;
    if (shown === null || project === null) return;
    choice.value = nameOf(shown, presets);
    if (document.activeElement !== level) level.value = shorten((shown.low + shown.high) / 2);
    if (document.activeElement !== width) width.value = shorten(shown.high - shown.low);
  });
  keepWindow();
}

/** Write the window down once it has settled, for the next time that the project is opened. */
function keepWindow() {
  let timer = 0;
  /** @type {string | undefined} */
  let opened;
  watch(["window", "project"], ({ window: shown, project }) => {
    if (project === null || shown === null) return;
    // What is shown first was kept already, or is the file's own.
    if (project.id !== opened) {
      opened = project.id;
      kept = JSON.stringify(shown);
      return;
    }
    if (JSON.stringify(shown) === kept) return;
    kept = JSON.stringify(shown);
    window.clearTimeout(timer);
    const { id, window: own } = project;
    const isOwn = shown.low === own.low && shown.high === own.high;
    timer = window.setTimeout(
      () => attempt(() => keepLook(id, isOwn ? { low: null, high: null } : shown)),
      SETTLED_MS,
    );
  });
}
let kept = "";

/** @param {number} level @param {number} width */
const fromLevel = (level, width) => ({ low: level - width / 2, high: level + width / 2 });

/** @param {{low: number, high: number}} shown @param {Record<string, [number, number]>} presets */
function nameOf(shown, presets) {
  const { low, high } = get().project?.window ?? shown;
  if (shown.low === low && shown.high === high) return FILE;
  const same = ([level, width] = [0, 0]) => fromLevel(level, width).low === shown.low && fromLevel(level, width).high === shown.high;
  return Object.keys(presets).find((name) => same(presets[name])) ?? OWN;
}

/** @param {number} value */
const shorten = (value) => String(Number(value.toPrecision(5)));
