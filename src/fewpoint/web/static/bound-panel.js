/** How large does the object get at most, and who says so? */

import { percent } from "./curve.js";
import { find } from "./dom.js";
import { act } from "./session.js";
import { currentObject, get, watch } from "./store.js";

export function setUpBound() {
  const field = find("fraction", HTMLInputElement);
  find("clear-box", HTMLButtonElement).addEventListener("click", () =>
    act({ kind: "clear_box", object: get().object }),
  );
  field.addEventListener("change", () => {
    const share = Number.parseFloat(field.value) / 100;
    act({ kind: "set_fraction", fraction: share > 0 && share <= 1 ? share : null });
  });
  watch(["project", "object"], ({ project }) => {
    const box = currentObject()?.box ?? null;
    const fraction = project?.bound.fraction ?? null;
    find("clear-box", HTMLButtonElement).hidden = box === null;
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
  const box = currentObject()?.box ?? null;
  if (box !== null) return `of the frame: box on frame ${box.frame + 1}.`;
  if (project?.bound.fraction != null) return "of the frame at most.";
  return "Estimated from the points, unless you draw a box where the object is largest.";
}
