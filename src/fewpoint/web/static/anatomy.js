/** How does a plane of the volume lie in the patient, and which way up is it shown? Pure geometry. */

/** @typedef {import("./types.js").ProjectMessage} Project */
/** @typedef {0 | 1 | 2} Axis  across frames, rows or columns of the stored array */

/**
 * A plane as it is shown.
 * @typedef {object} Plane
 * @property {Axis} axis  that it lies across
 * @property {string} name
 * @property {Axis} rows  the axis along which its stored rows are counted
 * @property {Axis} columns
 * @property {number} count  how many there are
 * @property {number} height  of the stored plane, in pixels
 * @property {number} width
 * @property {import("./view.js").Turn} turn  from the stored plane to the one shown
 * @property {number} aspect  height of a shown pixel over its width
 * @property {{left: string, right: string, top: string, bottom: string} | null} letters  the patient's sides
 */

/** @type {Record<string, string>} */
const OPPOSITE = { R: "L", L: "R", A: "P", P: "A", S: "I", I: "S" };

/**
 * What lies to the right and below in each plane, as radiologists have it: the patient's left is on the right, and in a
 * sagittal plane the patient looks to the left.
 * @type {Record<string, {name: string, right: string, below: string}>}
 */
const SHOWN = {
  S: { name: "Axial", right: "L", below: "P" },
  A: { name: "Coronal", right: "L", below: "I" },
  R: { name: "Sagittal", right: "P", below: "I" },
};

/** The patient's axis that a side belongs to. @param {string} side */
const line = (side) => (side in SHOWN ? side : OPPOSITE[side]);

const NAMES = ["Frames", "Along the row", "Along the column"];

/** @param {Project} project @param {Axis} axis @returns {Plane} */
export function planeOf(project, axis) {
  const counts = [project.frames, project.height, project.width];
  const [rows, columns] = /** @type {[Axis, Axis]} */ ([0, 1, 2].filter((other) => other !== axis));
  const [height, width] = [counts[rows], counts[columns]];
  const stored = { axis, rows, columns, count: counts[axis], height, width };
  const spacing = project.kind === "volume" || axis === 0 ? (project.spacing_mm ?? [1, 1, 1]) : [1, 1, 1];
  const { directions } = project;
  if (directions === null) {
    const turn = { swap: false, flipX: false, flipY: false, width, height };
    return { ...stored, name: NAMES[axis], turn, aspect: spacing[rows] / spacing[columns], letters: null };
  }
  const { name, right, below } = SHOWN[line(directions[axis])];
  const swap = line(directions[rows]) === line(right);
  const [across, down] = swap ? [rows, columns] : [columns, rows];
  const turn = { swap, flipX: directions[across] !== right, flipY: directions[down] !== below, width, height };
  const letters = { left: OPPOSITE[right], right, top: OPPOSITE[below], bottom: below };
  return { ...stored, name, turn, aspect: spacing[down] / spacing[across], letters };
}

/**
 * The middle of the volume: the same place of the patient whichever way the file counts.
 * @param {Project} project
 * @returns {[number, number, number]} frame, row, column
 */
export function middleOf(project) {
  const counts = [project.frames, project.height, project.width];
  const [frame, y, x] = counts.map((count, axis) => {
    const half = Math.floor(count / 2);
    const side = project.directions?.[axis];
    return side !== undefined && !(side in SHOWN) ? count - 1 - half : half;
  });
  return [frame, y, x];
}
