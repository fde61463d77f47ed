/** How is the server asked, and what is said when it refuses? */

/** @typedef {import("./types.js").Action} Action */
/** @typedef {import("./types.js").ProjectMessage} Project */
/** @typedef {import("./types.js").RunMessage} Run */

/** The server understood and said no; the message is its one plain line. */
export class Refusal extends Error {
  /** @param {string} message @param {number} status */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** The server did not answer at all. */
export class Unreachable extends Error {}

/**
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<Response>}
 */
export async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Unreachable("The server does not answer. Is it still running?");
  }
  if (!response.ok) throw new Refusal(await reason(response), response.status);
  return response;
}

/** @param {Response} response @returns {Promise<string>} */
async function reason(response) {
  const body = await response.json().catch(() => null);
  return typeof body?.detail === "string" ? body.detail : `The server answered with error ${response.status}.`;
}

/** @param {string} path @returns {Promise<any>} */
async function read(path) {
  return (await ask(path)).json();
}

/** @param {string} path @param {unknown} body @returns {Promise<any>} */
async function post(path, body = {}) {
  const headers = { "Content-Type": "application/json" };
  return (await ask(path, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

/** @param {string} id */
const at = (id) => `/api/projects/${encodeURIComponent(id)}`;
/** @param {string} id @param {number} run */
const atRun = (id, run) => `${at(id)}/runs/${run}`;

/** @returns {Promise<import("./types.js").Health>} */
export const readHealth = () => read("/api/health");
/** @param {string} path @returns {Promise<import("./types.js").FileListing>} */
export const listFiles = (path) => read(`/api/files?path=${encodeURIComponent(path)}`);
/** @returns {Promise<import("./types.js").ProjectEntry[]>} */
export const listProjects = () => read("/api/projects");
/** @returns {Promise<import("./types.js").FormatEntry[]>} */
export const listFormats = () => read("/api/formats");
/** @param {{input: string} | {project: string}} what @returns {Promise<Project>} */
export const openInput = (what) => post("/api/projects", what);
/** @param {string} id @returns {Promise<Project>} */
export const readProject = (id) => read(at(id));
/** @param {string} id @param {Action} action @returns {Promise<import("./types.js").ActionResult>} */
export const sendAction = (id, action) => post(`${at(id)}/actions`, { action });
/** @param {string} id @param {boolean} refine @returns {Promise<Run>} */
export const startRun = (id, refine) => post(`${at(id)}/runs`, { refine });
/** @param {string} id @param {number} run @returns {Promise<Run>} */
export const resumeRun = (id, run) => post(`${atRun(id, run)}/resume`);
/** @param {string} id @param {number} run @returns {Promise<Run>} */
export const cancelRun = (id, run) => post(`${atRun(id, run)}/cancel`);
/** @param {string} id @param {number} run @returns {Promise<import("./types.js").UncertaintyMessage>} */
export const readUncertainty = (id, run) => read(`${atRun(id, run)}/uncertainty`);
/**
 * @param {string} id
 * @param {number} run
 * @param {string} format
 * @returns {Promise<import("./types.js").ExportMessage>}
 */
export const exportRun = (id, run, format) => post(`${atRun(id, run)}/exports`, { format });

/** @param {string} id @param {boolean} on @returns {Promise<import("./types.js").LiveMessage>} */
export const turnLive = (id, on) => post(`${at(id)}/live`, { on });

/**
 * Have masks answered as if an object had another size.
 * @param {string} id
 * @param {{object: string, size: number, frame: number | null}} what
 * @returns {Promise<import("./types.js").LiveMessage>}
 */
export const trySize = (id, what) => post(`${at(id)}/live/size`, what);

/**
 * The mask of a run, or if none is named, as it is now.
 * @param {string} id
 * @param {{run: number | null, object: string, frame: number, preview: boolean}} which
 * @returns {Promise<import("./types.js").MaskMessage>}
 */
export const readMask = (id, { run, object, frame, preview }) =>
  read(
    `${run === null ? at(id) : atRun(id, run)}/${preview ? "preview" : "masks"}/${frame}` +
      `?object=${encodeURIComponent(object)}`,
  );

/**
 * @param {Project} project
 * @param {number} index
 * @param {{low: number, high: number} | null} window
 * @param {number} axis
 */
export function frameAddress(project, index, window, axis = 0) {
  const query = new URLSearchParams({ v: project.frames_key });
  if (window !== null) {
    query.set("low", String(window.low));
    query.set("high", String(window.high));
  }
  if (axis !== 0) query.set("axis", String(axis));
  return `${at(project.id)}/frames/${index}?${query}`;
}

/** @param {string} id @param {number} run @param {number} frame @param {string} object */
export const probabilityAddress = (id, run, frame, object) =>
  `${atRun(id, run)}/probabilities/${frame}?object=${encodeURIComponent(object)}`;
/** @param {string} id @param {string} name */
export const exportAddress = (id, name) => `${at(id)}/exports/${encodeURIComponent(name)}`;
/** @param {string} id */
export const projectFileAddress = (id) => `${at(id)}/file`;
/** @param {string} id */
export const eventsAddress = (id) =>
  `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${at(id)}/events`;

/** @param {File[]} files @returns {Promise<import("./types.js").Uploaded>} */
export async function uploadFiles(files) {
  const form = new FormData();
  for (const file of files) form.append("files", file, file.name);
  return (await ask("/api/uploads", { method: "POST", body: form })).json();
}
