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
  if (live.partly) return "A rough mask near your click; the other frames follow.";
  if (live.state === "starting") return "Getting ready to answer your clicks…";
  if (activeRun() !== null && live.newer.length > 0) return "Learning; your last words come next.";
  if (activeRun() !== null) return "Learning from what you said.";
  if (live.due) return "Learning begins in a moment.";
  if (shownRun() === null && !isEnough()) return "Learning begins once two frames are marked.";
  // Nothing begins by itself for what was said before a run was stopped.
  if (live.newer.length > 0) return `Not learnt yet: press ${shownRun() === null ? "Run" : "Refine"}, or go on marking.`;
  if (shownRun() === null) return "Learning begins after your next click.";
  return "Whatever you say changes the mask at once.";
}
