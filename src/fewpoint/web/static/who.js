/** Who does what is done here? So that an undo takes back what the same person did, and nobody else. */

const BROWSER = "fewpoint browser";
const TAB = "fewpoint tab";

/** @param {Storage} storage @param {string} key */
function keepId(storage, key) {
  try {
    const known = storage.getItem(key) ?? crypto.getRandomValues(new Uint32Array(2)).reduce((text, part) => text + part.toString(36), "");
    storage.setItem(key, known);
    return known;
  } catch {
    return "page"; // a browser that keeps nothing
  }
}

const NAME = "fewpoint name";
const browser = keepId(localStorage, BROWSER);
const tab = keepId(sessionStorage, TAB);

/** What the person calls themselves; empty if they do not say. */
export const myName = () => localStorage.getItem(NAME) ?? "";

/** @param {string} name */
export const setMyName = (name) => localStorage.setItem(NAME, name.replace(/[./]/g, " ").trim().slice(0, 30));

/** This page, by the person's name, the browser and its tab; a reload changes none of them. */
export const me = () => `${myName() === "" ? "" : `${myName()}.`}${browser}/${tab}`;

/** Whether one of those who did something is this person, as the server tells them apart. @param {string[]} people */
export const isAmong = (people) => people.some((by) => ["", browser].includes((by.split("/")[0].split(".").at(-1) ?? "")));
