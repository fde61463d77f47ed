/** How does a person learn that something happened or went wrong? */

import { find, make } from "./dom.js";

const SHOWN_MS = 5000;

/** Say it to a screen reader, and to nobody else. @param {string} text */
export function announce(text) {
  find("live", HTMLElement).textContent = text;
}

/** Show a line that goes away by itself. @param {string} text */
export function tell(text) {
  show(text, "note");
}

/** Show a line that stays long enough to be read; what it says can be found elsewhere, too. @param {string} text */
export function warn(text) {
  show(text, "warn");
}

/** Show a line that stays until it is dismissed. @param {unknown} error */
export function complain(error) {
  if (error instanceof DOMException && error.name === "AbortError") return;
  show(error instanceof Error ? error.message : String(error), "error");
}

/** @param {string} text @param {"note" | "warn" | "error"} kind */
function show(text, kind) {
  const list = find("notices", HTMLElement);
  // A dialog lies over everything else of the page: what is said must be in it to be seen.
  (openDialog() ?? document.body).append(list);
  for (const other of list.children) if (other.getAttribute("data-text") === text) other.remove();
  const close = () => notice.remove();
  const notice = make(
    "div",
    { class: `notice ${kind}`, role: kind === "error" ? "alert" : "status", "data-text": text },
    make("span", { text }),
    make("button", {
      type: "button",
      class: "quiet",
      "aria-label": "Dismiss",
      title: "Dismiss",
      onclick: close,
      text: "×",
    }),
  );
  list.append(notice);
  if (kind !== "error") window.setTimeout(close, kind === "note" ? SHOWN_MS : 3 * SHOWN_MS);
}

/** The dialog on top. @returns {Element | null} */
const openDialog = () => [...document.querySelectorAll("dialog[open]")].at(-1) ?? null;

/** Keep what was said in sight when a dialog closes. */
export function setUpNotices() {
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("close", () => (openDialog() ?? document.body).append(find("notices", HTMLElement)));
  }
}

/** Ask, once, whether the browser may tell of the end of a run while another page is looked at. */
export function askToNotify() {
  if ("Notification" in window && Notification.permission === "default") Notification.requestPermission();
}

/** Tell of the end of a run to somebody who looks elsewhere. @param {string} text */
export function notify(text) {
  if (!document.hidden) return;
  document.title = `● ${text} · fewpoint`;
  if ("Notification" in window && Notification.permission === "granted") new Notification("fewpoint", { body: text });
}

/** Run what may fail, and say so if it does. @template T @param {() => Promise<T>} work @returns {Promise<T | null>} */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    complain(error);
    return null;
  }
}
