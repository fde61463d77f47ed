/** How is the server asked, and what is said when it refuses? */

import { me } from "./who.js";

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
/** @param {string} id @param {number | null} run  null for what is shown */
const atResult = (id, run) => (run === null ? at(id) : atRun(id, run));

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
/**
 * @param {string} id
 * @param {Action} action
 * @param {number} view  the frame that is looked at, whose mask then comes first
 * @returns {Promise<import("./types.js").ActionResult>}
 */
export const sendAction = (id, action, view) => post(`${at(id)}/actions`, { action, view, by: me() });
/**
 * @param {string} id
 * @param {{refine: boolean, warm_start?: boolean, added?: string[]}} what
 * @returns {Promise<Run>}
 */
export const startRun = (id, what) => post(`${at(id)}/runs`, what);
/** @param {string} id @param {number} run @returns {Promise<Run>} */
export const resumeRun = (id, run) => post(`${atRun(id, run)}/resume`);
/** @param {string} id @param {number} run @returns {Promise<Run>} */
export const cancelRun = (id, run) => post(`${atRun(id, run)}/cancel`);
/** @param {string} id @param {number} run @returns {Promise<import("./types.js").UncertaintyMessage>} */
export const readUncertainty = (id, run) => read(`${atRun(id, run)}/uncertainty`);
/** @returns {Promise<import("./types.js").WorkEntry[]>} */
export const listWork = () => read("/api/work");
/** @returns {Promise<import("./types.js").QueueEntry[]>} */
export const listQueue = () => read("/api/queue");
/** @param {string} path @returns {Promise<import("./types.js").SeriesEntry[]>} */
export const listSeries = (path) => read(`/api/series?path=${encodeURIComponent(path)}`);
/** @param {string} patient  an ID, or "" for all @returns {Promise<import("./types.js").PacsStudy[]>} */
export const listPacsStudies = (patient) => read(`/api/pacs/studies?patient=${encodeURIComponent(patient)}`);
/** @param {string} study @returns {Promise<import("./types.js").PacsSeries[]>} */
export const listPacsSeries = (study) => read(`/api/pacs/studies/${encodeURIComponent(study)}/series`);
/** @param {string} study @param {string} series @returns {Promise<import("./types.js").Uploaded>} */
export const fetchFromPacs = (study, series) => post("/api/pacs/series", { study, series });
/** @param {string} id @param {number | null} run @returns {Promise<import("./types.js").StoredMessage>} */
export const storeRun = (id, run) => post(`${atResult(id, run)}/store`);
/** @param {string} format @returns {Promise<import("./types.js").ExportMessage[]>} */
export const exportAll = (format) => post("/api/work/exports", { format });
/** @param {string} id @param {"" | "accepted" | "rejected"} verdict @returns {Promise<Project>} */
export const sendReview = (id, verdict) => post(`${at(id)}/review`, { verdict, by: me() });
/** @param {string} id @returns {Promise<import("./types.js").StorageMessage>} */
export const readStorage = (id) => read(`${at(id)}/storage`);
/** @param {string} id @param {number} run @returns {Promise<Project>} */
export const deleteRun = (id, run) => post(`${atRun(id, run)}/delete`);
/** @param {string} id @param {string} name @returns {Promise<import("./types.js").StorageMessage>} */
export const deleteExport = (id, name) => post(`${at(id)}/exports/${encodeURIComponent(name)}/delete`);
/** @param {string} id */
export const deleteUpload = (id) => post(`${at(id)}/upload/delete`);
/** Show the masks of a run from now on. @param {string} id @param {number} run @returns {Promise<Project>} */
export const chooseRun = (id, run) => post(`${atRun(id, run)}/choose`);
/**
 * How far masks as they are now agree with those of a run.
 * @param {string} id
 * @param {{other: number, number: number}} what  number: of the object
 * @returns {Promise<import("./types.js").AgreementMessage>}
 */
export const readAgreement = (id, { other, number }) => read(`${at(id)}/agreement?other=${other}&number=${number}`);
/**
 * @param {string} id
 * @param {number | null} run  null for what is shown
 * @param {{format: string, probabilities: boolean}} what
 * @returns {Promise<import("./types.js").ExportMessage>}
 */
export const exportRun = (id, run, what) => post(`${atResult(id, run)}/exports`, what);

/** @param {string} id @param {boolean} on @returns {Promise<import("./types.js").LiveMessage>} */
export const turnLive = (id, on) => post(`${at(id)}/live`, { on });

/**
 * Have masks answered as if an object had another size.
 * @param {string} id
 * @param {{object: string, size: number, frame: number | null, view: number}} what  view: the frame that is looked at
 * @returns {Promise<import("./types.js").LiveMessage>}
 */
export const trySize = (id, what) => post(`${at(id)}/live/size`, what);

/**
 * The mask of a run, or if none is named, as it is now.
 * @param {string} id
 * @param {{run: number | null, number: number, axis: number, index: number}} which  number: of the object
 * @returns {Promise<import("./types.js").MaskMessage>}
 */
export const readMask = (id, { run, number, axis, index }) =>
  read(`${run === null ? at(id) : atRun(id, run)}/masks/${index}?number=${number}${alongAxis(axis)}`);

/** @param {number} axis */
const alongAxis = (axis) => (axis === 0 ? "" : `&axis=${axis}`);

/**
 * Give a plane of an object's masks the mask painted on it.
 * @param {string} id
 * @param {{object: string, axis: number, index: number, runs: import("./types.js").PixelRuns}} stroke
 * @returns {Promise<import("./types.js").ActionResult>}
 */
export const sendStroke = (id, stroke) => post(`${at(id)}/strokes`, { ...stroke, by: me() });

/**
 * Change the masks of an object by name.
 * @param {string} id
 * @param {{object: string, edit: string, frame: number, everywhere?: boolean, value?: number, places?: number[][], erase?: boolean}} what
 * @returns {Promise<import("./types.js").ActionResult>}
 */
export const sendEdit = (id, what) => post(`${at(id)}/edits`, { ...what, by: me() });
/**
 * Take over points or masks of a file.
 * @param {string} id
 * @param {{object: string, path: string | null}} what
 * @returns {Promise<import("./types.js").ActionResult>}
 */
export const sendImport = (id, what) => post(`${at(id)}/imports`, { ...what, by: me() });

/** @param {string} id @param {import("./crosshair.js").Place} place @returns {Promise<import("./types.js").ValueMessage>} */
export const readValue = (id, { frame, y, x }) => read(`${at(id)}/value?frame=${frame}&y=${y}&x=${x}`);
/** @param {string} id @param {number} number  of the object @returns {Promise<import("./types.js").MeasureMessage>} */
export const readMeasures = (id, number) => read(`${at(id)}/measures?number=${number}`);
/** @param {string} id @param {number} number  of the object @returns {Promise<ArrayBuffer>} */
export const readSurface = async (id, number) => (await ask(`${at(id)}/surface?number=${number}`)).arrayBuffer();
/** @param {string} id @param {import("./types.js").LookMessage} look */
export const keepLook = (id, look) => post(`${at(id)}/look`, look);

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

/** @param {string} id @param {number} run @param {{axis: number, index: number, number: number}} which  number: of the object */
export const probabilityAddress = (id, run, { axis, index, number }) =>
  `${atRun(id, run)}/probabilities/${index}?number=${number}${alongAxis(axis)}`;
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
