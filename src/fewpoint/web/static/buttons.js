/** Which buttons stand for commands, and are they on, off or of no use now? */

import { watch } from "./store.js";

/** @typedef {import("./commands.js").Command} Command */

/** Wire every element with `data-command`. @param {Record<string, Command>} commands */
export function setUpButtons(commands) {
  /** @type {[HTMLButtonElement | HTMLInputElement, Command][]} */
  const wired = [];
  for (const element of document.querySelectorAll("[data-command]")) {
    const command = commands[element.getAttribute("data-command") ?? ""];
    if (command === undefined) throw new Error(`no command ${element.getAttribute("data-command")}`);
    if (!(element instanceof HTMLButtonElement || element instanceof HTMLInputElement)) continue;
    element.title = command.keys.length > 0 ? `${command.label} (${command.keys[0]})` : command.label;
    if (element.textContent?.trim() === "" && element instanceof HTMLButtonElement)
      element.setAttribute("aria-label", command.label);
    element.addEventListener(element instanceof HTMLInputElement ? "change" : "click", () => command.run());
    wired.push([element, command]);
  }
  const names = /** @type {const} */ ([
    "project",
    "frame",
    "object",
    "tool",
    "window",
    "playing",
    "stepping",
    "uncertainty",
    "sizeOfFrame",
  ]);
  watch([...names, "showMask", "showContour", "showHeat", "showPlanes", "showCross"], () => {
    for (const [element, command] of wired) refresh(element, command);
  });
}

/** @param {HTMLButtonElement | HTMLInputElement} element @param {Command} command */
function refresh(element, command) {
  element.disabled = !(command.can?.() ?? true);
  if (command.on === undefined) return;
  if (element instanceof HTMLInputElement) element.checked = command.on();
  else element.setAttribute("aria-pressed", String(command.on()));
}
