/** How large is the object, on this frame and in all, and what is the value under the pointer? */

import { Unreachable, readMeasures, readValue } from "./api.js";
import { find } from "./dom.js";
import { complain } from "./notices.js";
import { currentObject, get, openProject, watch } from "./store.js";

const SETTLED_MS = 150;

/** What was measured last, and of which masks. @type {{key: string, areas: number[]}} */
let measured = { key: "", areas: [] };

export function setUpMeasures() {
  let timer = 0;
  watch(["project", "object"], () => {
    window.clearTimeout(timer);
    if (get().project !== null) timer = window.setTimeout(measure, SETTLED_MS);
  });
  watch(["project", "object", "frame"], showMeasures);
  watch(["pointed", "cursor", "project"], showPixel);
}

/** All that the masks of the current object depend on. */
function masksKey() {
  const { project, object } = get();
  return project === null
    ? ""
    : JSON.stringify([project.id, object, project.version, project.live.shown[object]?.stamp]);
}

async function measure() {
  const [key, object] = [masksKey(), currentObject()];
  if (key === measured.key || object === null) return showMeasures();
  try {
    const { areas } = await readMeasures(openProject().id, object.number);
    measured = { key, areas };
    showMeasures();
  } catch (error) {
    if (!(error instanceof Unreachable)) complain(error);
  }
}

function showMeasures() {
  const { project, frame } = get();
  const words = find("measures", HTMLElement);
  const total = measured.areas.reduce((sum, area) => sum + area, 0);
  const isKnown = project !== null && total > 0 && measured.areas.length === project.frames;
  words.hidden = !isKnown;
  if (!isKnown || project === null) return;
  const here = measured.areas[frame] ?? 0;
  const { spacing_mm: spacing, kind } = project;
  const onFrame = spacing === null ? `${here} pixels` : area(here * spacing[1] * spacing[2]);
  const inAll =
    spacing !== null && kind === "volume" && !project.live.partly
      ? `, ${((total * spacing[0] * spacing[1] * spacing[2]) / 1000).toPrecision(3)} ml in all`
      : "";
  words.textContent = `${onFrame} on this frame${inAll}`;
}

/** @param {number} mm2 */
const area = (mm2) => (mm2 >= 100 ? `${(mm2 / 100).toPrecision(3)} cm²` : `${mm2.toPrecision(3)} mm²`);

let asking = false;

/** Row, column and value under the pointer; of the values that are waited for the last one only. */
async function showPixel() {
  const { project, pointed, frame, cursor } = get();
  const place = pointed ?? { frame, ...cursor };
  const label = find("pixel", HTMLElement);
  if (project === null) {
    label.textContent = "";
    return;
  }
  label.textContent = `${project.kind === "volume" ? `frame ${place.frame}  ` : ""}y ${place.y}  x ${place.x}`;
  if (asking) return;
  asking = true;
  try {
    const { values } = await readValue(project.id, place);
    if (get().project?.id === project.id) showValue(values);
  } catch (error) {
    if (!(error instanceof Unreachable)) complain(error);
  }
  asking = false;
  const now = get().pointed ?? { frame: get().frame, ...get().cursor };
  if (now.frame !== place.frame || now.y !== place.y || now.x !== place.x) showPixel();
}

/** @param {number[]} values */
function showValue(values) {
  const { unit } = openProject();
  const numbers = values.map((value) => String(Number(value.toPrecision(5)))).join(" ");
  find("pixel-value", HTMLElement).textContent = `${numbers}${unit === "" ? "" : ` ${unit}`}`;
}
