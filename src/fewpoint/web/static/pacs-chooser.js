/** Which study of the PACS, and which of its series? */

import { fetchFromPacs, listPacsSeries, listPacsStudies } from "./api.js";
import { fileButton, openPath, whileBusy } from "./chooser.js";
import { find, make } from "./dom.js";
import { attempt } from "./notices.js";

/** @param {string} pacs  its address, or "" without one */
export function setUpPacs(pacs) {
  find("pacs-part", HTMLElement).hidden = pacs === "";
  find("pacs-address", HTMLElement).textContent = pacs;
  find("pacs-form", HTMLFormElement).addEventListener("submit", (event) => {
    event.preventDefault();
    showStudies();
  });
}

async function showStudies() {
  const patient = find("pacs-patient", HTMLInputElement).value.trim();
  await whileBusy("Asking the PACS…", async () => {
    const studies = await attempt(() => listPacsStudies(patient));
    if (studies !== null) list(studies.map(studyRow), "The PACS has no such study.");
  });
}

/** @param {import("./types.js").PacsStudy} study */
function studyRow(study) {
  const detail = [inDays(study.date), study.modalities, study.description].filter((part) => part !== "").join(" · ");
  return fileButton("folder", study.patient === "" ? "no ID" : study.patient, detail, () => showSeries(study.uid));
}

/** @param {string} study */
async function showSeries(study) {
  await whileBusy("Asking the PACS…", async () => {
    const series = await attempt(() => listPacsSeries(study));
    if (series === null) return;
    const rows = series.map((each) => {
      const detail = [each.modality, each.images > 0 ? `${each.images} images` : ""].filter((part) => part !== "").join(" · ");
      const name = each.description === "" ? `series ${each.number}` : each.description;
      return fileButton("input", name, detail, () => open(study, each.uid));
    });
    list([fileButton("folder", "..", "all studies", showStudies), ...rows], "");
  });
}

/** @param {string} study @param {string} series */
async function open(study, series) {
  await whileBusy("Fetching the series…", async () => {
    const place = await attempt(() => fetchFromPacs(study, series));
    if (place !== null) await openPath({ input: place.path });
  });
}

/** @param {HTMLElement[]} rows @param {string} otherwise  what is said without any */
function list(rows, otherwise) {
  const empty = make("li", { class: "nothing", text: otherwise });
  find("pacs-list", HTMLElement).replaceChildren(...(rows.length > 0 ? rows : [empty]));
}

/** 20260131 as 2026-01-31. @param {string} date */
const inDays = (date) => date.replace(/^(\d{4})(\d{2})(\d{2})$/, "$1-$2-$3");
