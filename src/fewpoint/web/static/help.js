/** Which keys are there? */

import { find, make } from "./dom.js";

/** Keys and gestures that are not commands. @type {[string, string[]][]} */
const GESTURES = [
  ["Add a click, or remove the one under the mouse", ["Click"]],
  ["Move a point, or the image if there is none", ["Drag"]],
  ["A background click", ["Alt+Click"]],
  ["Through the frames, or the planes under the mouse", ["Wheel"]],
  ["The crosshair follows the mouse", ["Shift"]],
  ["Zoom", ["Ctrl+Wheel", "Pinch"]],
  ["Move the image", ["Middle drag"]],
  ["Brightness and contrast of grey images", ["Right drag"]],
];
/** @type {[string, string[]][]} */
const CURSOR = [
  ["A cursor on the image, moved by keys", ["C"]],
  ["Move it; ten pixels at once with Shift", ["←", "→", "↑", "↓"]],
  ["Do what a click does while the cursor is on; twice for the corners of a box", ["Enter"]],
  ["A background click", ["Alt+Enter"]],
  ["Frames while the cursor is on", [",", "."]],
  ["Back", ["Escape"]],
  ["Choose an object", ["1", "…", "9"]],
];

/** @param {Record<string, import("./commands.js").Command>} commands */
export function fillHelp(commands) {
  const all = Object.values(commands);
  const parts = [section("With the mouse", GESTURES), section("Without a mouse", CURSOR)];
  for (const group of new Set(all.map((command) => command.group))) {
    const members = all.filter((command) => command.group === group);
    parts.push(
      section(
        group,
        members.map(({ label, keys }) => [label, keys]),
      ),
    );
  }
  find("help-body", HTMLElement).replaceChildren(...parts);
}

/** @param {string} title @param {[string, string[]][]} rows */
function section(title, rows) {
  const list = make("dl");
  for (const [label, keys] of rows) {
    const marks = keys.map((key) => (key === "…" ? key : make("kbd", { text: key })));
    list.append(make("div", {}, make("dt", {}, ...marks), make("dd", { text: label })));
  }
  return make("section", {}, make("h3", { text: title }), list);
}
