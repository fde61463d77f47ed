/** How large does the object get at most, and in which boxes does it lie? */

import { percent } from "./curve.js";
import { find } from "./dom.js";
import { act } from "./session.js";
import { currentObject, get, shownRun, watch } from "./store.js";

export function setUpBound() {
  const field = find("fraction", HTMLInputElement);
  const clear = find("clear-box", HTMLButtonElement);
  const clearAll = find("clear-boxes", HTMLButtonElement);
  clear.addEventListener("click", () => act({ kind: "clear_box", object: get().object, frame: get().frame }));
  clearAll.addEventListener("click", () => act({ kind: "clear_box", object: get().object, frame: null }));
  field.addEventListener("change", () => {
    const share = Number.parseFloat(field.value) / 100;
    act({ kind: "set_fraction", fraction: share > 0 && share <= 1 ? share : null });
  });
  watch(["project", "object", "frame"], ({ project, frame }) => {
    const { box = null, boxes = [] } = currentObject() ?? {};
    const fraction = project?.fraction ?? null;
    clear.hidden = !boxes.some((other) => other.frame === frame);
    clearAll.hidden = boxes.length < 2;
    find("bound-share", HTMLElement).textContent = percent(usedBound() ?? undefined);
    find("bound-words", HTMLElement).textContent = inWords();
    find("fraction-label", HTMLElement).hidden = box !== null;
    field.disabled = project === null;
    if (document.activeElement !== field)
      field.value = fraction === null || box !== null ? "" : String(Number((100 * fraction).toPrecision(3)));
  });
}

/** The share of a frame that the object in view covers at most: as said, else as the run shown took it. */
export function usedBound() {
  return currentObject()?.bound ?? shownRun()?.figures[get().object]?.bound ?? null;
}

function inWords() {
  const { project, object } = get();
  const { box = null, boxes = [] } = currentObject() ?? {};
  if (box !== null) {
    const others = boxes.length === 1 ? "" : `, the largest of ${boxes.length}`;
    return `of a frame at most: box on frame ${box.frame}${others}.`;
  }
  if (project?.fraction != null) return "of a frame at most, as you say.";
  const origin = shownRun()?.figures[object]?.bound_origin ?? "";
  return origin === "" ? "estimated from the points." : `of a frame at most, ${origin.replace(/ (as|to be) [\d.]+% of a frame/, "")}.`;
}
