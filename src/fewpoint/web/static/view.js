/** Which pixel of the image lies where on the screen? Pure geometry. */

/**
 * How a stored image becomes the one that is shown: rows and columns exchanged, then mirrored.
 * @typedef {object} Turn
 * @property {boolean} swap
 * @property {boolean} flipX
 * @property {boolean} flipY
 * @property {number} width  of the stored image
 * @property {number} height
 */

/**
 * @typedef {object} View
 * @property {number} zoom  screen pixels for the width of a shown pixel
 * @property {number} aspect  height of a shown pixel over its width
 * @property {number} left  where the image's left edge lies on the screen
 * @property {number} top
 * @property {Turn} turn
 */

/** @typedef {{width: number, height: number}} Size */

const MARGIN = 12;
const LARGEST_ZOOM = 64;
const SMALLEST_SHARE = 0.25;

/** The size of the image as it is shown. @param {Turn} turn @returns {Size} */
export const shownSize = ({ swap, width, height }) => (swap ? { width: height, height: width } : { width, height });

/**
 * The whole image, as large as it fits, in the middle.
 * @param {Turn} turn
 * @param {Size} screen
 * @param {number} aspect
 */
export function fitView(turn, screen, aspect) {
  const image = shownSize(turn);
  const width = Math.max(1, screen.width - 2 * MARGIN);
  const height = Math.max(1, screen.height - 2 * MARGIN);
  const zoom = Math.min(width / image.width, height / (image.height * aspect));
  return centred({ zoom, aspect, left: 0, top: 0, turn }, image, screen);
}

/** @param {View} view @param {Size} image @param {Size} screen @returns {View} */
function centred(view, image, screen) {
  const left = (screen.width - image.width * view.zoom) / 2;
  const top = (screen.height - image.height * view.zoom * view.aspect) / 2;
  return { ...view, left, top };
}

/**
 * Zoom while what is under (x, y) on the screen stays there.
 * @param {View} view
 * @param {number} factor
 * @param {{x: number, y: number}} at
 * @param {View} whole  the view of the whole image, which bounds how small it gets
 * @returns {View}
 */
export function zoomAt(view, factor, at, whole) {
  const zoom = Math.min(LARGEST_ZOOM, Math.max(SMALLEST_SHARE * whole.zoom, view.zoom * factor));
  const change = zoom / view.zoom;
  return { ...view, zoom, left: at.x - (at.x - view.left) * change, top: at.y - (at.y - view.top) * change };
}

/** @param {View} view @param {number} right @param {number} down @returns {View} */
export function pan(view, right, down) {
  return { ...view, left: view.left + right, top: view.top + down };
}

/**
 * Position in the image, where pixel (y, x) covers [y, y + 1) by [x, x + 1).
 * @param {View} view
 * @param {{x: number, y: number}} at
 */
export function toImage(view, at) {
  const { swap, flipX, flipY } = view.turn;
  const { width, height } = shownSize(view.turn);
  let [y, x] = [(at.y - view.top) / (view.zoom * view.aspect), (at.x - view.left) / view.zoom];
  if (flipX) x = width - x;
  if (flipY) y = height - y;
  return swap ? { y: x, x: y } : { y, x };
}

/** @param {View} view @param {{x: number, y: number}} position  in the image */
export function toScreen(view, position) {
  const { swap, flipX, flipY } = view.turn;
  const { width, height } = shownSize(view.turn);
  let [y, x] = swap ? [position.x, position.y] : [position.y, position.x];
  if (flipX) x = width - x;
  if (flipY) y = height - y;
  return { y: view.top + y * view.zoom * view.aspect, x: view.left + x * view.zoom };
}

/**
 * The step in the stored image of a step on the screen.
 * @param {Turn} turn
 * @param {{y: number, x: number}} step
 */
export function stepInImage({ swap, flipX, flipY }, step) {
  const [down, right] = [flipY ? -step.y : step.y, flipX ? -step.x : step.x];
  return swap ? { y: right, x: down } : { y: down, x: right };
}

/** Where pixels of the stored image lie on the screen. @param {View} view @returns {DOMMatrix} */
export function matrixOf({ zoom, aspect, left, top, turn }) {
  const { width, height } = shownSize(turn);
  const matrix = new DOMMatrix([zoom, 0, 0, zoom * aspect, left, top]);
  if (turn.flipX) matrix.multiplySelf(new DOMMatrix([-1, 0, 0, 1, width, 0]));
  if (turn.flipY) matrix.multiplySelf(new DOMMatrix([1, 0, 0, -1, 0, height]));
  if (turn.swap) matrix.multiplySelf(new DOMMatrix([0, 1, 1, 0, 0, 0]));
  return matrix;
}

/** A path in pixels of the stored image as one on the screen, so that its line is as wide everywhere. @param {View} view @param {Path2D} path */
export function onScreen(view, path) {
  const shown = new Path2D();
  shown.addPath(path, matrixOf(view));
  return shown;
}

/** Draw in pixels of the stored image. @param {CanvasRenderingContext2D} context @param {View} view @param {() => void} draw */
export function inImage(context, view, draw) {
  const { a, b, c, d, e, f } = matrixOf(view);
  context.save();
  context.transform(a, b, c, d, e, f);
  draw();
  context.restore();
}

/** Where the middle of a pixel lies on the screen. @param {View} view @param {{y: number, x: number}} pixel */
export function pixelCentre(view, pixel) {
  return toScreen(view, { y: pixel.y + 0.5, x: pixel.x + 0.5 });
}

/**
 * The pixel at a position of the image, or the nearest one.
 * @param {{x: number, y: number}} position
 * @param {Size} image
 */
export function nearestPixel(position, image) {
  const clamp = (/** @type {number} */ value, /** @type {number} */ count) =>
    Math.min(count - 1, Math.max(0, Math.floor(value)));
  return { y: clamp(position.y, image.height), x: clamp(position.x, image.width) };
}

/** @param {{x: number, y: number}} position @param {Size} image */
export function isInside(position, image) {
  return position.x >= 0 && position.y >= 0 && position.x < image.width && position.y < image.height;
}
