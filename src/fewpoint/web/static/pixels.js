/** How does a mask become runs, an outline, a picture, and runs again? Pure functions on arrays. */

/** @typedef {import("./types.js").PixelRuns} PixelRuns */

/** @param {PixelRuns} runs @param {number} count  of pixels @returns {Uint8Array} of zeros and ones, row after row */
export function decodeRuns(runs, count) {
  const mask = new Uint8Array(count);
  for (const [start, length] of runs) mask.fill(1, start, start + length);
  return mask;
}

/** @param {Uint8Array} mask @returns {PixelRuns} */
export function encodeRuns(mask) {
  /** @type {PixelRuns} */
  const runs = [];
  for (let start = mask.indexOf(1); start !== -1;) {
    let end = mask.indexOf(0, start);
    if (end === -1) end = mask.length;
    runs.push([start, end - start]);
    start = mask.indexOf(1, end);
  }
  return runs;
}

/**
 * Set the pixels whose middle is at most radius from the segment between two positions.
 * @param {Uint8Array} mask  changed in place
 * @param {number} width
 * @param {{y: number, x: number}} from  position in the image
 * @param {{y: number, x: number}} to
 * @param {{radius: number, value: 0 | 1}} brush
 */
export function paintStroke(mask, width, from, to, { radius, value }) {
  const height = mask.length / width;
  const top = Math.max(0, Math.floor(Math.min(from.y, to.y) - radius));
  const bottom = Math.min(height - 1, Math.ceil(Math.max(from.y, to.y) + radius));
  const left = Math.max(0, Math.floor(Math.min(from.x, to.x) - radius));
  const right = Math.min(width - 1, Math.ceil(Math.max(from.x, to.x) + radius));
  for (let y = top; y <= bottom; y += 1) {
    for (let x = left; x <= right; x += 1) {
      if (distanceToSegment(y + 0.5, x + 0.5, from, to) <= radius) mask[y * width + x] = value;
    }
  }
}

/** @param {number} y @param {number} x @param {{y: number, x: number}} from @param {{y: number, x: number}} to */
function distanceToSegment(y, x, from, to) {
  const [dy, dx] = [to.y - from.y, to.x - from.x];
  const square = dy * dy + dx * dx;
  const along = square === 0 ? 0 : Math.min(1, Math.max(0, ((y - from.y) * dy + (x - from.x) * dx) / square));
  return Math.hypot(y - from.y - along * dy, x - from.x - along * dx);
}

/**
 * The edges between marked and unmarked pixels, neighbours in a line joined: [y0, x0, y1, x1] in image positions.
 * @param {Uint8Array} mask
 * @param {number} width
 * @returns {[number, number, number, number][]}
 */
export function outline(mask, width) {
  const height = mask.length / width;
  const at = (/** @type {number} */ y, /** @type {number} */ x) =>
    y >= 0 && x >= 0 && y < height && x < width ? mask[y * width + x] : 0;
  const { top, bottom, left, right } = extent(mask, width);
  /** @type {[number, number, number, number][]} */
  const edges = [];
  for (let y = top; y <= bottom; y += 1) {
    for (let x = left; x < right; x += 1) {
      const start = x;
      while (x < right && at(y - 1, x) !== at(y, x)) x += 1;
      if (x > start) edges.push([y, start, y, x]);
    }
  }
  for (let x = left; x <= right; x += 1) {
    for (let y = top; y < bottom; y += 1) {
      const start = y;
      while (y < bottom && at(y, x - 1) !== at(y, x)) y += 1;
      if (y > start) edges.push([start, x, y, x]);
    }
  }
  return edges;
}

/**
 * The same edges as lines from corner to corner, as long as they go, so that they can be dashed.
 * @param {[number, number, number, number][]} edges
 * @returns {[number, number][][]} positions (y, x) along each line
 */
export function joinEdges(edges) {
  /** @type {Map<string, Set<number>>} the edges that end at a corner */
  const ending = new Map();
  const corner = (/** @type {number[]} */ place) => place.join();
  edges.forEach(([y0, x0, y1, x1], index) => {
    for (const place of [corner([y0, x0]), corner([y1, x1])]) {
      if (!ending.has(place)) ending.set(place, new Set());
      ending.get(place)?.add(index);
    }
  });
  /** Take an edge out. @param {number} index */
  const take = (index) => {
    const [y0, x0, y1, x1] = edges[index];
    ending.get(corner([y0, x0]))?.delete(index);
    ending.get(corner([y1, x1]))?.delete(index);
  };
  /** @type {[number, number][][]} */
  const lines = [];
  edges.forEach(([y0, x0, y1, x1], first) => {
    if (!ending.get(corner([y0, x0]))?.has(first)) return;
    take(first);
    /** @type {[number, number][]} */
    const line = [
      [y0, x0],
      [y1, x1],
    ];
    for (let at = line[1]; ;) {
      const [next] = ending.get(corner(at)) ?? [];
      if (next === undefined) break;
      take(next);
      const [fromY, fromX, toY, toX] = edges[next];
      at = fromY === at[0] && fromX === at[1] ? [toY, toX] : [fromY, fromX];
      line.push(at);
    }
    lines.push(line);
  });
  return lines;
}

/**
 * The box round what is marked; bottom and right are the first row and column outside.
 * @param {Uint8Array} mask
 * @param {number} width
 */
function extent(mask, width) {
  const top = Math.floor(mask.indexOf(1) / width);
  const bottom = Math.floor(mask.lastIndexOf(1) / width) + 1;
  let [left, right] = [width, 0];
  for (let y = Math.max(0, top); y < bottom; y += 1) {
    const row = mask.subarray(y * width, (y + 1) * width);
    const first = row.indexOf(1);
    if (first !== -1) [left, right] = [Math.min(left, first), Math.max(right, row.lastIndexOf(1) + 1)];
  }
  return { top, bottom, left, right };
}

/** @param {Uint8Array} mask @param {number} width @param {string} colour @returns {ImageData} opaque where marked */
export function colourMask(mask, width, colour) {
  const image = new ImageData(width, mask.length / width);
  const [red, green, blue] = parseColour(colour);
  for (const [start, length] of encodeRuns(mask)) {
    for (let pixel = start; pixel < start + length; pixel += 1) image.data.set([red, green, blue, 255], 4 * pixel);
  }
  return image;
}

/** @param {string} colour  as #rrggbb @returns {[number, number, number]} */
export function parseColour(colour) {
  const value = Number.parseInt(colour.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** Blue over green to yellow, evenly brighter: people who see few colours can distinguish it. */
const HEAT = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
];

/** @param {number} share  from 0 to 1 @returns {[number, number, number]} */
export function heatColour(share) {
  const place = Math.min(1, Math.max(0, share)) * (HEAT.length - 1);
  const index = Math.min(HEAT.length - 2, Math.floor(place));
  const [from, to] = [HEAT[index], HEAT[index + 1]];
  const mix = (/** @type {number} */ channel) =>
    Math.round(from[channel] + (place - index) * (to[channel] - from[channel]));
  return [mix(0), mix(1), mix(2)];
}

/** Colour a picture of probabilities in place; what is improbable is see-through. @param {ImageData} image */
export function colourHeat(image) {
  const { data } = image;
  for (let at = 0; at < data.length; at += 4) {
    const share = data[at] / 255;
    const [red, green, blue] = heatColour(share);
    data.set([red, green, blue, Math.round(255 * Math.min(1, Math.max(0, 2.5 * share - 0.1)))], at);
  }
}
