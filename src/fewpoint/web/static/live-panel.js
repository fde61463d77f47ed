/** Does the mask follow the clicks, and what is learnt of them meanwhile? */

import { turnLive } from "./api.js";
import { find } from "./dom.js";
import { attempt } from "./notices.js";
import { knowLive } from "./session.js";
import { activeRun, openProject, shownRun, watch } from "./store.js";

export async function toggleLive() {
  const { id, live } = openProject();
  const answer = await attempt(() => turnLive(id, !live.on));
  if (answer !== null) knowLive(answer);
}

export function setUpLive() {
  const words = find("live-words", HTMLElement);
  watch(["project"], ({ project }) => {
    if (project === null) return;
    const { live } = project;
    words.textContent = live.on ? live.message || inWords(live) : "Off: masks change with Run and Refine.";
    words.classList.toggle("wrong", live.on && live.message !== "");
  });
}

/** Whether so many frames are marked that something can be learnt. */
function isEnough() {
  const { objects, frames } = openProject();
  const clicked = objects.flatMap(({ points, brushed }) => [
    ...points.filter(({ positive }) => positive).map(({ frame }) => frame),
    ...brushed,
  ]);
  return new Set(clicked).size >= Math.min(2, frames);
}

/** @param {import("./types.js").LiveMessage} live */
function inWords(live) {
  if (live.partly) return "Preview near your click; the other frames follow.";
  if (live.state === "starting") return "Reading the frames…";
  if (activeRun() !== null && live.newer.length > 0) return "Training. Your latest marks are used next.";
  if (activeRun() !== null) return "Training on your marks.";
  if (live.due) return "Training starts in a moment.";
  if (shownRun() === null && !isEnough()) return "Training starts once two frames are annotated.";
  // Nothing begins by itself for what was said before a run was stopped.
  if (live.newer.length > 0) return `Not trained yet: press ${shownRun() === null ? "Run" : "Refine"}, or keep annotating.`;
  if (shownRun() === null) return "Training starts after your next click.";
  return "Each mark updates the mask.";
}
