/** How does the page hear of what others do, and of a run's progress, for as long as it is open? */

import { eventsAddress } from "./api.js";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8000;

/**
 * Listen to a project's events; connect again, ever more patiently, whenever the connection ends.
 * @param {string} id
 * @param {{onEvent: (event: import("./types.js").Event) => void, onOpen: () => void, onLost: () => void}} listener
 * @returns {() => void} ends listening
 */
export function listen(id, { onEvent, onOpen, onLost }) {
  let wait = FIRST_WAIT_MS;
  let ended = false;
  /** @type {WebSocket | null} */
  let socket = null;
  let timer = 0;

  const connect = () => {
    socket = new WebSocket(eventsAddress(id));
    socket.onopen = () => {
      wait = FIRST_WAIT_MS;
      onOpen();
    };
    socket.onmessage = (message) => onEvent(JSON.parse(message.data));
    socket.onclose = () => {
      if (ended) return;
      onLost();
      timer = window.setTimeout(connect, wait);
      wait = Math.min(2 * wait, LONGEST_WAIT_MS);
    };
  };

  connect();
  return () => {
    ended = true;
    window.clearTimeout(timer);
    socket?.close();
  };
}
