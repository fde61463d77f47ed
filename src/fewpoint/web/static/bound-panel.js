/** How large does the object get at most, and in which boxes does it lie? */

import { percent } from "./curve.js";
import { find } from "./dom.js";
import { act } from "./session.js";
import { currentObject, get, watch } from "./store.js";

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
    const fraction = project?.bound.fraction ?? null;
    clear.hidden = !boxes.some((other) => other.frame === frame);
    clearAll.hidden = boxes.length < 2;
    find("bound-share", HTMLElement).textContent = percent(box?.share ?? fraction ?? undefined);
    find("bound-words", HTMLElement).textContent = inWords();
    find("fraction-label", HTMLElement).hidden = box !== null;
    field.disabled = project === null;
    if (document.activeElement !== field)
      field.value = fraction === null || box !== null ? "" : String(Number((100 * fraction).toPrecision(3)));
  });
}

function inWords() {
  const { project } = get();
  const { box = null, boxes = [] } = currentObject() ?? {};
  if (box !== null) {
    const others = boxes.length === 1 ? "" : `, the largest of ${boxes.length}`;
    return `of the frame at most: box on frame ${box.frame + 1}${others}.`;
  }
  if (project?.bound.fraction != null) return "of the frame at most, as you say.";
  return "Largest size: estimated from the points.";
}
