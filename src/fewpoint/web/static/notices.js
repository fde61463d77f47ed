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

/** Show a line that stays until it is dismissed. @param {unknown} error */
export function complain(error) {
  if (error instanceof DOMException && error.name === "AbortError") return;
  show(error instanceof Error ? error.message : String(error), "error");
}

/** @param {string} text @param {"note" | "error"} kind */
function show(text, kind) {
  const list = find("notices", HTMLElement);
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
  if (kind === "note") window.setTimeout(close, SHOWN_MS);
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
