/** How is the page put together? */

import { readHealth } from "./api.js";
import { setUpBound } from "./bound-panel.js";
import { setUpButtons } from "./buttons.js";
import { openChooser, openKnown, setUpChooser } from "./chooser.js";
import { makeCommands } from "./commands.js";
import { setUpCurve } from "./curve.js";
import { find } from "./dom.js";
import { openExport, setUpExport } from "./export-dialog.js";
import { Gestures } from "./gestures.js";
import { fillHelp } from "./help.js";
import { setUpKeyboard } from "./keyboard.js";
import { setUpLive } from "./live-panel.js";
import { attempt } from "./notices.js";
import { setUpObjects } from "./objects-panel.js";
import { setUpPlanes } from "./planes.js";
import { beginRun, setUpRunPanel } from "./run-panel.js";
import { guardLeaving } from "./session.js";
import { setUpSize } from "./size-panel.js";
import { Stage } from "./stage.js";
import { get } from "./store.js";
import { setUpTimeline } from "./timeline.js";
import { setUpViewer } from "./viewer.js";

const stage = new Stage(find("stage", HTMLCanvasElement));
const dialogs = { openFiles: openChooser, openExport, openHelp: () => find("help", HTMLDialogElement).showModal() };
const commands = makeCommands({ stage, startRun: beginRun, dialogs });

setUpViewer(stage);
setUpPlanes();
setUpTimeline(stage);
setUpObjects();
setUpSize();
setUpBound();
setUpLive();
setUpRunPanel();
setUpCurve();
setUpExport();
setUpChooser();
setUpButtons(commands);
setUpKeyboard(commands, new Gestures(stage));
fillHelp(commands);
guardLeaving();
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.querySelector("[data-close]")?.addEventListener("click", () => dialog.close());
}

/** The project that the address names, else the one that the server was started with, else a choice. */
async function begin() {
  const health = await attempt(readHealth);
  if (health !== null) find("machine", HTMLElement).textContent = `fewpoint ${health.version}`;
  const named = new URLSearchParams(location.hash.slice(1)).get("project") ?? health?.opened ?? null;
  if (named === null || !(await openKnown(named))) await openChooser();
}

window.addEventListener("hashchange", () => {
  const named = new URLSearchParams(location.hash.slice(1)).get("project");
  if (named !== null && named !== get().project?.id) openKnown(named);
});
await begin();
