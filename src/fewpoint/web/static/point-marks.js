/** How does a point look? A disc on the object, a struck-out ring where the object is not. */

const RADIUS = 6;

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{x: number, y: number}} centre
 * @param {{positive: boolean}} point
 * @param {{colour: string, current: boolean, scale?: number}} look
 */
export function drawPoint(context, { x, y }, { positive }, { colour, current, scale = 1 }) {
  const radius = RADIUS * scale;
  context.save();
  context.globalAlpha = current ? 1 : 0.75;
  circle(context, x, y, radius + 2, "rgba(0, 0, 0, 0.55)");
  circle(context, x, y, radius + 0.5, "#ffffff");
  circle(context, x, y, radius - 1, positive ? colour : "#14181d");
  if (!positive) {
    context.strokeStyle = colour;
    context.lineWidth = 2.5 * scale;
    context.beginPath();
    context.moveTo(x - radius * 0.55, y);
    context.lineTo(x + radius * 0.55, y);
    context.stroke();
  }
  context.restore();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} radius
 * @param {string} colour
 */
function circle(context, x, y, radius, colour) {
  context.fillStyle = colour;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}
