/** Which pixel of the image lies where on the screen? Pure geometry. */

/**
 * @typedef {object} View
 * @property {number} zoom  screen pixels for the width of an image pixel
 * @property {number} aspect  height of an image pixel over its width
 * @property {number} left  where the image's left edge lies on the screen
 * @property {number} top
 */

/** @typedef {{width: number, height: number}} Size */

const MARGIN = 12;
const LARGEST_ZOOM = 64;
const SMALLEST_SHARE = 0.25;

/**
 * The whole image, as large as it fits, in the middle.
 * @param {Size} image
 * @param {Size} screen
 * @param {number} aspect
 */
export function fitView(image, screen, aspect) {
  const width = Math.max(1, screen.width - 2 * MARGIN);
  const height = Math.max(1, screen.height - 2 * MARGIN);
  const zoom = Math.min(width / image.width, height / (image.height * aspect));
  return centred({ zoom, aspect, left: 0, top: 0 }, image, screen);
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
  return { y: (at.y - view.top) / (view.zoom * view.aspect), x: (at.x - view.left) / view.zoom };
}

/** @param {View} view @param {{x: number, y: number}} position  in the image */
export function toScreen(view, position) {
  return { y: view.top + position.y * view.zoom * view.aspect, x: view.left + position.x * view.zoom };
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
