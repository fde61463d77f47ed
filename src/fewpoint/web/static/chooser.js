/** Which images are to be opened: on the server, from this computer, or a project from before? */

import { listFiles, listProjects, listSeries, openInput, readProject, uploadFiles } from "./api.js";
import { find, make } from "./dom.js";
import { attempt, tell } from "./notices.js";
import { enter } from "./session.js";

/** @typedef {import("./types.js").FileEntry} FileEntry */

export function setUpChooser() {
  const files = find("upload", HTMLInputElement);
  files.addEventListener("change", () => upload([...(files.files ?? [])]));
  find("upload-button", HTMLButtonElement).addEventListener("click", () => files.click());
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) document.body.classList.remove("dropping");
  });
  document.addEventListener("drop", async (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    if (event.dataTransfer !== null) upload(await droppedFiles(event.dataTransfer));
  });
}

/** Show the dialog, at the folder where it was left. */
export async function openChooser() {
  const dialog = find("chooser", HTMLDialogElement);
  if (!dialog.open) dialog.showModal();
  await Promise.all([showFolder(folder), showRecent()]);
}

let folder = "";

/** @param {string} path */
async function showFolder(path) {
  const listing = await attempt(() => listFiles(path));
  if (listing === null) return;
  folder = listing.path;
  showPath(listing.path);
  const rows = listing.entries.map(fileRow);
  if (listing.parent !== null) {
    const parent = listing.parent;
    rows.unshift(fileButton("folder", "..", "one folder up", () => showFolder(parent)));
  }
  const empty = make("li", { class: "nothing", text: "Nothing here that can be opened." });
  find("files", HTMLElement).replaceChildren(...(rows.length > 0 ? rows : [empty]));
}

/** The way to the folder, each step a button. @param {string} path */
function showPath(path) {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  const step = (/** @type {string} */ label, /** @type {string} */ target) =>
    make("button", { type: "button", class: "quiet", text: label, onclick: () => showFolder(target) });
  const steps = names.map((name, index) => step(name, names.slice(0, index + 1).join("/")));
  const line = [step("All files", ""), ...steps].flatMap((button) => [
    make("span", { class: "slash", text: "/" }),
    button,
  ]);
  find("path", HTMLElement).replaceChildren(...line.slice(1));
}

/** The series of a folder of DICOM images; one alone is opened. @param {string} path */
export async function openSeries(path) {
  const dialog = find("chooser", HTMLDialogElement);
  if (!dialog.open) dialog.showModal();
  await whileBusy("Looking at the series…", async () => {
    const series = await attempt(() => listSeries(path));
    if (series === null) return;
    if (series.length === 1) return openPath({ input: path });
    const rows = series.map((each) => {
      const detail = [each.patient, each.study, each.modality, `${each.images} images`].filter((part) => part !== "").join(" · ");
      return fileButton("input", each.description, detail, () => openPath({ input: each.path }));
    });
    rows.unshift(fileButton("folder", "..", "one folder up", () => showFolder(folder)));
    find("files", HTMLElement).replaceChildren(...rows);
  });
}

/** @param {FileEntry} entry */
function fileRow(entry) {
  const open = {
    folder: () => showFolder(entry.path),
    input: () => openPath({ input: entry.path }),
    series: () => openSeries(entry.path),
    project: () => openPath({ project: entry.path }),
  }[entry.kind];
  const detail = {
    folder: "folder",
    input: entry.size_bytes > 0 ? bytes(entry.size_bytes) : "images",
    series: "DICOM",
    project: "project",
  }[entry.kind];
  return fileButton(entry.kind === "series" ? "input" : entry.kind, entry.name, detail, open);
}

/** @param {string} kind @param {string} name @param {string} detail @param {() => void} open */
export function fileButton(kind, name, detail, open) {
  const button = make(
    "button",
    { type: "button", class: `file ${kind}`, onclick: open },
    make("span", { class: "name", text: name }),
    make("span", { class: "detail", text: detail }),
  );
  return make("li", {}, button);
}

async function showRecent() {
  const projects = await attempt(listProjects);
  const list = find("recent", HTMLElement);
  find("recent-part", HTMLElement).hidden = projects === null || projects.length === 0;
  const rows = (projects ?? []).map((project) => {
    const detail = project.running ? "running now" : new Date(project.changed_at).toLocaleString();
    return fileButton("project", project.input, detail, () => openKnown(project.id));
  });
  list.replaceChildren(...rows);
}

/** @param {{input: string} | {project: string}} what */
export async function openPath(what) {
  await whileBusy("Reading the images…", async () => {
    const project = await attempt(() => openInput(what));
    if (project !== null) enterAndClose(project);
  });
}

/** @param {string} id @returns {Promise<boolean>} whether there is such a project */
export async function openKnown(id) {
  const project = await attempt(() => readProject(id));
  if (project !== null) enterAndClose(project);
  return project !== null;
}

/** @param {import("./types.js").ProjectMessage} project */
function enterAndClose(project) {
  find("chooser", HTMLDialogElement).close();
  enter(project);
  for (const note of project.notes) tell(note);
}

/** @param {File[]} files */
async function upload(files) {
  if (files.length === 0) return;
  const size = bytes(files.reduce((sum, file) => sum + file.size, 0));
  await whileBusy(`Sending ${files.length === 1 ? files[0].name : `${files.length} files`} (${size})…`, async () => {
    const place = await attempt(() => uploadFiles(files));
    if (place !== null) await openPath({ input: place.path });
  });
}

/** Say what is being waited for. @param {string} text @param {() => Promise<void>} work */
export async function whileBusy(text, work) {
  const busy = find("busy", HTMLElement);
  busy.textContent = text;
  busy.hidden = false;
  await work();
  busy.hidden = true;
}

/** All files of a drop, those in folders too. @param {DataTransfer} transfer @returns {Promise<File[]>} */
async function droppedFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (entries.length === 0) return [...transfer.files];
  return (await Promise.all(entries.map(filesOf))).flat();
}

/** @param {FileSystemEntry} entry @returns {Promise<File[]>} */
async function filesOf(entry) {
  if (entry.isFile)
    return [await new Promise((resolve, reject) => /** @type {FileSystemFileEntry} */ (entry).file(resolve, reject))];
  const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
  /** @type {FileSystemEntry[]} */
  const inside = [];
  // A folder lists its entries in portions, and ends with an empty one.
  for (;;) {
    /** @type {FileSystemEntry[]} */
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) break;
    inside.push(...some);
  }
  return (await Promise.all(inside.map(filesOf))).flat();
}

/** @param {number} count */
export function bytes(count) {
  const units = ["bytes", "kB", "MB", "GB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, count)) / 3));
  return `${Number((count / 1000 ** power).toPrecision(3))} ${units[power]}`;
}
