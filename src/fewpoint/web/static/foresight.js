/** What will the project be once the server has done this? Shown until it has, so that a click is seen at once. */

/** @typedef {import("./types.js").ProjectMessage} Project */
/** @typedef {import("./types.js").ObjectMessage} Thing */
/** @typedef {import("./types.js").Action} Action */

/** Points that the server has not numbered yet have numbers below zero. @param {{id: number}} point */
export const isPending = (point) => point.id < 0;

/**
 * Actions that are not foreseen leave the project as it is.
 * @param {Project} project
 * @param {Action} action
 * @param {number} index
 * @returns {Project}
 */
export function foresee(project, action, index) {
  switch (action.kind) {
    case "add_point": {
      const { frame, y, x, positive } = action;
      const point = { id: -1 - index, frame, y, x, positive };
      // The project with it may arrive before the answer to the action comes: then it is there already.
      const isIt = (/** @type {Thing["points"][number]} */ p) => p.frame === frame && p.y === y && p.x === x;
      return changed(project, action.object, (object) =>
        object.points.some(isIt) ? object : { ...object, points: [...object.points, point] },
      );
    }
    case "move_point": {
      const { y, x, frame } = action;
      return changedAll(project, (point) =>
        point.id === action.point ? [{ ...point, y, x, frame: frame ?? point.frame }] : [point],
      );
    }
    case "remove_point":
      return changedAll(project, (point) => (point.id === action.point ? [] : [point]));
    case "mark_absent": {
      const { frame, absent, last } = action;
      if (last != null) return project;
      const others = (/** @type {Thing} */ object) => object.absent.filter((other) => other !== frame);
      return changed(project, action.object, (object) => ({
        ...object,
        absent: absent ? [...others(object), frame] : others(object),
      }));
    }
    case "set_box": {
      const { frame, top, left, bottom, right } = action;
      const share = ((bottom - top) * (right - left)) / (project.height * project.width);
      const box = { frame, top, left, bottom, right, share };
      return changed(project, action.object, (object) =>
        boxed(object, [...object.boxes.filter((other) => other.frame !== frame), box]),
      );
    }
    case "clear_box": {
      const frame = action.frame ?? null;
      return changed(project, action.object, (object) =>
        boxed(object, frame === null ? [] : object.boxes.filter((other) => other.frame !== frame)),
      );
    }
    case "set_size": {
      const [size, frame] = [action.size ?? 1, action.frame ?? null];
      return changed(project, action.object, (object) =>
        frame === null ? { ...object, size } : { ...object, sizes: { ...object.sizes, [frame]: size } },
      );
    }
    default:
      return project;
  }
}

/** @param {Thing} object @param {Thing["boxes"]} boxes @returns {Thing} */
function boxed(object, boxes) {
  return { ...object, boxes, box: boxes.toSorted((one, other) => other.share - one.share)[0] ?? null };
}

/** @param {Project} project @param {string} name @param {(object: Thing) => Thing} change @returns {Project} */
function changed(project, name, change) {
  return { ...project, objects: project.objects.map((object) => (object.name === name ? change(object) : object)) };
}

/**
 * @param {Project} project
 * @param {(point: import("./types.js").PointMessage) => import("./types.js").PointMessage[]} change
 * @returns {Project}
 */
function changedAll(project, change) {
  return {
    ...project,
    objects: project.objects.map((object) => ({ ...object, points: object.points.flatMap(change) })),
  };
}
