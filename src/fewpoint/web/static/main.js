/** How is the page put together? */

import { readHealth } from "./api.js";
import { setUpBound } from "./bound-panel.js";
import { setUpButtons } from "./buttons.js";
import { openChooser, openKnown, setUpChooser } from "./chooser.js";
import { makeCommands } from "./commands.js";
import { setUpCurve } from "./curve.js";
import { find } from "./dom.js";
import { setUpEdits } from "./edit-panel.js";
import { openExport, setUpExport } from "./export-dialog.js";
import { Gestures } from "./gestures.js";
import { setUpHistory } from "./history-panel.js";
import { Masks } from "./masks.js";
import { setUpMeasures } from "./measure-panel.js";
import { fillHelp } from "./help.js";
import { setUpKeyboard } from "./keyboard.js";
import { setUpLive } from "./live-panel.js";
import { attempt, setUpNotices } from "./notices.js";
import { offerLabels, setUpObjects } from "./objects-panel.js";
import { setUpPacs } from "./pacs-chooser.js";
import { setUpPlanes } from "./planes.js";
import { beginRun, setUpRunPanel } from "./run-panel.js";
import { guardLeaving } from "./session.js";
import { setUpSize } from "./size-panel.js";
import { Stage } from "./stage.js";
import { get } from "./store.js";
import { setUpSurface } from "./surface-view.js";
import { setUpTimeline } from "./timeline.js";
import { setUpWindow } from "./window-panel.js";
import { setUpWorklist } from "./worklist.js";
import { setUpViewer } from "./viewer.js";

const masks = new Masks(() => stages.forEach((each) => each.draw()));
/** The planes that are seen, the large one first. */
export const stages = /** @type {const} */ (["stage", "plane-1", "plane-2"]).map(
  (id, order) => new Stage(find(id, HTMLCanvasElement), /** @type {0 | 1 | 2} */ (order), masks),
);
const [stage] = stages;
const dialogs = { openFiles: openChooser, openExport: () => openExport(), openHelp: () => find("help", HTMLDialogElement).showModal() };
const commands = makeCommands({ stage, startRun: beginRun, dialogs });

setUpViewer(stage);
setUpPlanes(stages);
setUpMeasures();
setUpSurface();
setUpTimeline(stage);
setUpObjects();
setUpSize();
setUpBound();
setUpLive();
setUpRunPanel();
setUpCurve();
setUpExport();
setUpEdits();
setUpHistory();
setUpWorklist();
setUpChooser();
setUpButtons(commands);
setUpKeyboard(commands, stages.map((each) => new Gestures(each))[0]);
fillHelp(commands);
guardLeaving();
setUpNotices();
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.querySelector("[data-close]")?.addEventListener("click", () => dialog.close());
}

/** The project that the address names, else the one that the server was started with, else a choice. */
async function begin() {
  const health = await attempt(readHealth);
  setUpWindow(health?.windows ?? {});
  offerLabels(health?.labels ?? {});
  setUpPacs(health?.pacs ?? "");
  if (health !== null) find("machine", HTMLElement).textContent = `fewpoint ${health.version}`;
  const named = new URLSearchParams(location.hash.slice(1)).get("project") ?? health?.opened ?? null;
  if (named === null || !(await openKnown(named))) await openChooser();
}

window.addEventListener("hashchange", () => {
  const named = new URLSearchParams(location.hash.slice(1)).get("project");
  if (named !== null && named !== get().project?.id) openKnown(named);
});
await begin();
