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
let user = "";

/** Be the one whom the server knows by their token; it signs what is done here, whatever the page says. @param {string} name */
export const becomeUser = (name) => {
  user = name;
};

/** Whether the server knows who this is, so that nobody need say. */
export const isKnown = () => user !== "";

/** What the person calls themselves; empty if they do not say. */
export const myName = () => user || (localStorage.getItem(NAME) ?? "");

/** The browser as the server tells it apart: one of a user is theirs alone. */
const place = () => (user === "" ? browser : `${user}~${browser}`);

/** @param {string} name */
export const setMyName = (name) => localStorage.setItem(NAME, name.replace(/[./]/g, " ").trim().slice(0, 30));

/** This page, by the person's name, the browser and its tab; a reload changes none of them. */
export const me = () => `${myName() === "" ? "" : `${myName()}.`}${browser}/${tab}`;

/** Whether one of those who did something is this person, as the server tells them apart. @param {string[]} people */
export const isAmong = (people) => people.some((by) => ["", place()].includes((by.split("/")[0].split(".").at(-1) ?? "")));
