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

/** @param {import("./types.js").LiveMessage} live */
function inWords(live) {
  if (live.state === "starting") return "Getting ready to answer your clicks…";
  if (activeRun() !== null && live.newer.length > 0) return "Learning; your last words come next.";
  if (activeRun() !== null) return "Learning from what you said.";
  if (live.due) return "Learning begins in a moment.";
  if (shownRun() === null) return "Learning begins once two frames are marked.";
  return "Whatever you say changes the mask at once.";
}
