/** How much larger or smaller should the mask be than what was found? Seen while it is dragged, said when let go. */

import { trySize } from "./api.js";
import { find } from "./dom.js";
import { announce, attempt } from "./notices.js";
import { act, knowLive } from "./session.js";
import { currentObject, get, openProject, set, watch } from "./store.js";

const SMALLEST = 0.05;
const LARGEST = 20;

/** What is being tried out now, and what is to be tried next. @type {Promise<void> | null} */
let trying = null;
/** @type {number | null} */
let next = null;

/** The size that the dial shows: of the current object, on this frame or on all. */
export function shownSize() {
  const { frame, sizeOfFrame } = get();
  const object = currentObject();
  return (sizeOfFrame ? object?.sizes[String(frame)] : object?.size) ?? 1;
}

/** @param {number} factor */
export function changeSize(factor) {
  say(shownSize() * factor);
}

export function resetSize() {
  say(1);
}

/** @param {number} size */
async function say(size) {
  const { object, frame, sizeOfFrame, triedSize } = get();
  if (currentObject() === null) return;
  const kept = Number(Math.min(LARGEST, Math.max(SMALLEST, size)).toPrecision(3));
  if (kept !== shownSize()) next = null;
  else if (triedSize !== null) tryOut(kept); // or what was tried before would stay in sight
  await trying; // or what was tried might be answered last
  if (kept !== shownSize()) {
    const accepted = await act({ kind: "set_size", object, size: kept, frame: sizeOfFrame ? frame : null });
    if (accepted) announce(`${object} is to be ${kept} times as large${sizeOfFrame ? " on this frame" : ""}.`);
  }
  set({ triedSize: null });
}

/** Show what a size would give; of several that wait the last one only. @param {number} size */
function tryOut(size) {
  set({ triedSize: size });
  if (!openProject().live.on) return;
  next = size;
  trying ??= tryNext().finally(() => {
    trying = null;
  });
}

async function tryNext() {
  while (next !== null) {
    const { object, frame, sizeOfFrame } = get();
    const what = { object, size: next, frame: sizeOfFrame ? frame : null, view: frame };
    next = null;
    const answer = await attempt(() => trySize(openProject().id, what));
    if (answer !== null) knowLive(answer);
  }
}

export function setUpSize() {
  const dial = find("size", HTMLInputElement);
  const factor = find("size-factor", HTMLInputElement);
  const ofFrame = find("size-of-frame", HTMLInputElement);
  let isHeld = false;
  dial.addEventListener("input", () => {
    isHeld = true;
    tryOut(2 ** Number(dial.value));
  });
  dial.addEventListener("change", () => {
    isHeld = false;
    say(2 ** Number(dial.value));
  });
  // A dial that is let go where it was taken has not changed, says the browser.
  const letGo = () => {
    if (isHeld) say(shownSize());
    isHeld = false;
  };
  window.addEventListener("pointerup", () => window.setTimeout(letGo));
  factor.addEventListener("change", () => say(Number(factor.value) > 0 ? Number(factor.value) : 1));
  ofFrame.addEventListener("change", () => set({ sizeOfFrame: ofFrame.checked }));
  watch(["project", "object", "frame", "sizeOfFrame", "triedSize"], ({ sizeOfFrame, triedSize }) => {
    const size = triedSize ?? shownSize();
    dial.disabled = factor.disabled = ofFrame.disabled = currentObject() === null;
    if (triedSize === null) dial.value = String(Math.log2(size));
    dial.setAttribute("aria-valuetext", `${Number(size.toFixed(2))} times`);
    if (document.activeElement !== factor) factor.value = String(Number(size.toFixed(2)));
    ofFrame.checked = sizeOfFrame;
  });
}
