/** How large is the object taken to be on each frame? A curve that grows while a run learns. */

import { usedBound } from "./bound-panel.js";
import { find, makeSvg } from "./dom.js";
import { goTo } from "./commands.js";
import { activeRun, get, shownRun, watch } from "./store.js";

const WIDTH = 268;
const HEIGHT = 84;
const LEFT = 40;
const TOP = 8;
const BOTTOM = 66;

export function setUpCurve() {
  const figure = find("curve", HTMLElement);
  watch(["project", "frame", "object"], ({ project, frame, object }) => {
    const priors = (activeRun() ?? shownRun())?.priors?.[object] ?? null;
    figure.hidden = project === null || priors === null;
    if (project !== null && priors !== null) figure.replaceChildren(draw(priors, frame, usedBound()));
  });
  figure.addEventListener("pointerdown", (event) => {
    const { project } = get();
    const bounds = figure.getBoundingClientRect();
    const x = ((event.clientX - bounds.left) / bounds.width) * WIDTH;
    if (project !== null) goTo(Math.round(((x - LEFT) / (WIDTH - LEFT)) * (project.frames - 1)));
  });
}

/** @param {number[]} priors @param {number} frame @param {number | null} bound */
function draw(priors, frame, bound) {
  const highest = 1.08 * Math.max(...priors, bound ?? 0, 1e-4);
  const x = (/** @type {number} */ index) => LEFT + ((WIDTH - LEFT - 4) * index) / Math.max(1, priors.length - 1);
  const y = (/** @type {number} */ share) => BOTTOM - ((BOTTOM - TOP) * share) / highest;
  const line = priors
    .map((share, index) => `${index === 0 ? "M" : "L"}${x(index).toFixed(1)} ${y(share).toFixed(1)}`)
    .join("");
  const area = `${line}L${x(priors.length - 1).toFixed(1)} ${BOTTOM}L${LEFT} ${BOTTOM}Z`;
  const label = `Estimated share of the object: ${percent(priors[frame])} of frame ${frame}`;
  const picture = makeSvg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  for (const share of [0, highest / 1.08]) {
    picture.append(makeSvg("line", { class: "grid", x1: LEFT, x2: WIDTH, y1: y(share), y2: y(share) }));
    picture.append(text(percent(share), LEFT - 6, y(share) + 3.5, "end"));
  }
  picture.append(makeSvg("path", { class: "area", d: area }), makeSvg("path", { class: "line", d: line }));
  if (bound !== null)
    picture.append(makeSvg("line", { class: "bound", x1: LEFT, x2: WIDTH, y1: y(bound), y2: y(bound) }));
  picture.append(makeSvg("line", { class: "now", x1: x(frame), x2: x(frame), y1: TOP - 4, y2: BOTTOM }));
  picture.append(makeSvg("circle", { class: "dot", cx: x(frame), cy: y(priors[frame] ?? 0), r: 3.5 }));
  picture.append(text("frame 0", LEFT, HEIGHT - 4, "start"), text(String(priors.length - 1), WIDTH - 4, HEIGHT - 4, "end"));
  return picture;
}

/** @param {string} content @param {number} x @param {number} y @param {string} anchor */
function text(content, x, y, anchor) {
  const element = makeSvg("text", { x, y, "text-anchor": anchor });
  element.textContent = content;
  return element;
}

/** @param {number | undefined} share */
export function percent(share) {
  if (share === undefined) return "";
  const value = 100 * share;
  return `${value >= 10 ? value.toFixed(0) : value.toFixed(1)} %`;
}
