/** What does a key do? */

import { announce } from "./notices.js";
import { currentObject, get, set } from "./store.js";

/** @typedef {import("./commands.js").Command} Command */

const NAMES = new Map([
  ["ArrowLeft", "←"],
  ["ArrowRight", "→"],
  ["ArrowUp", "↑"],
  ["ArrowDown", "↓"],
  [" ", "Space"],
  ["PageUp", "Page Up"],
  ["PageDown", "Page Down"],
]);
/** @type {Record<string, [number, number]>} */
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const FAST = 10;

/** How a key is named in the list of commands. @param {KeyboardEvent} event */
export function keyOf(event) {
  const name = NAMES.get(event.key) ?? (event.key.length === 1 ? event.key.toUpperCase() : event.key);
  const isLetter = /^[A-Z]$/.test(name);
  const parts = [
    event.ctrlKey || event.metaKey ? "Ctrl" : "",
    event.altKey ? "Alt" : "",
    // For signs like ? the shift key is part of the sign.
    event.shiftKey && (isLetter || event.key.length > 1) ? "Shift" : "",
    name,
  ];
  return parts.filter((part) => part !== "").join("+");
}

/** @param {Record<string, Command>} commands @param {import("./gestures.js").Gestures} gestures */
export function setUpKeyboard(commands, gestures) {
  const byKey = new Map(Object.values(commands).flatMap((command) => command.keys.map((key) => [key, command])));
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || isTyping(event) || document.querySelector("dialog[open]") !== null) return;
    const isHandled = steerCursor(event, gestures) || chooseObject(event) || runCommand(byKey.get(keyOf(event)));
    if (isHandled) event.preventDefault();
  });
}

/** Keys that the focused element needs itself. @param {KeyboardEvent} event */
function isTyping(event) {
  const { target } = event;
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement && target.type === "range") return /^(Arrow|Page|Home|End)/.test(event.key);
  if (target instanceof HTMLSelectElement || (target instanceof HTMLInputElement && target.type !== "checkbox"))
    return true;
  const isPressed = target.closest("button, a, summary, label, input") !== null;
  return isPressed && (event.key === " " || event.key === "Enter");
}

/**
 * The keyboard's own cursor on the image: C begins, Escape ends.
 * @param {KeyboardEvent} event
 * @param {import("./gestures.js").Gestures} gestures
 */
function steerCursor(event, gestures) {
  const { keyboardCursor, project } = get();
  if (project === null || event.ctrlKey || event.metaKey) return false;
  const onImage = event.target === gestures.stage.canvas || event.target === document.body;
  if (!keyboardCursor) {
    const begins = event.key === "c" && !event.altKey;
    if (begins) beginCursor(gestures);
    return begins;
  }
  if (event.key === "Escape" || event.key === "c") {
    gestures.abandon();
    set({ keyboardCursor: false });
    announce("Arrow keys go through the frames again.");
    return true;
  }
  const move = MOVES[event.key];
  if (move !== undefined && !event.altKey && onImage) {
    const step = event.shiftKey ? FAST : 1;
    gestures.moveCursor(move[0] * step, move[1] * step);
    return true;
  }
  if (event.key === "Enter" && onImage) {
    gestures.pressByKey(event.altKey);
    return true;
  }
  return false;
}

/** @param {import("./gestures.js").Gestures} gestures */
function beginCursor(gestures) {
  gestures.stage.canvas.focus();
  set({ keyboardCursor: true, playing: false });
  const { cursor } = get();
  announce(`Cursor at row ${cursor.y}, column ${cursor.x}. Arrow keys move it, Enter marks, Escape ends.`);
}

/** The keys 1 to 9 choose an object. @param {KeyboardEvent} event */
function chooseObject(event) {
  if (!/^[1-9]$/.test(event.key) || event.ctrlKey || event.metaKey || event.altKey) return false;
  const object = get().project?.objects[Number(event.key) - 1];
  if (object === undefined) return false;
  set({ object: object.name });
  announce(`${currentObject()?.name} is being annotated.`);
  return true;
}

/** @param {Command | undefined} command */
function runCommand(command) {
  if (command === undefined) return false;
  if (command.can?.() ?? true) command.run();
  return true;
}
