/** What does the surface of the object look like? Turned by a drag, with the patient's sides round it. */

import { readSurface } from "./api.js";
import { find } from "./dom.js";
import { attempt } from "./notices.js";
import { parseColour } from "./pixels.js";
import { currentObject, openProject } from "./store.js";

const VERTEX = `
attribute vec3 place; attribute vec3 normal;
uniform mat3 turn; uniform vec3 middle; uniform float scale; uniform vec2 stretch;
varying vec3 facing;
void main() {
  vec3 seen = turn * (place - middle) * scale;
  facing = turn * normal;
  gl_Position = vec4(seen.xy * stretch, -seen.z * 0.5, 1.0);
}`;
const FRAGMENT = `
precision mediump float;
uniform vec3 colour; varying vec3 facing;
void main() {
  float light = 0.25 + 0.75 * abs(normalize(facing).z);
  gl_FragColor = vec4(colour * light, 1.0);
}`;
/** Radians for a pixel of a drag. */
const RATE = 0.01;
/** The patient's axes in RAS millimetres, and without a patient nothing. @type {[string, [number, number, number]][]} */
const SIDES = [
  ["R", [1, 0, 0]],
  ["L", [-1, 0, 0]],
  ["A", [0, 1, 0]],
  ["P", [0, -1, 0]],
  ["S", [0, 0, 1]],
  ["I", [0, 0, -1]],
];

/** From the front: the patient's left is on the right, as in a coronal plane. */
const FROM_FRONT = { around: 0, above: 0 };
let seen = { ...FROM_FRONT };
/** @type {{gl: WebGLRenderingContext, draw: (turn: number[]) => void} | null} */
let shown = null;

export function setUpSurface() {
  const canvas = find("surface-canvas", HTMLCanvasElement);
  canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons !== 1) return;
    seen.around += event.movementX * RATE;
    seen.above = Math.max(-1.57, Math.min(1.57, seen.above + event.movementY * RATE));
    redraw();
  });
  canvas.addEventListener("keydown", (event) => {
    const step = /** @type {Record<string, [number, number]>} */ ({
      ArrowLeft: [-0.2, 0],
      ArrowRight: [0.2, 0],
      ArrowUp: [0, -0.2],
      ArrowDown: [0, 0.2],
    })[event.key];
    if (step === undefined) return;
    event.preventDefault();
    seen = { around: seen.around + step[0], above: seen.above + step[1] };
    redraw();
  });
}

export async function openSurface() {
  const object = currentObject();
  if (object === null) return;
  const data = await attempt(() => readSurface(openProject().id, object.number));
  if (data === null) return;
  find("surface", HTMLDialogElement).showModal();
  const mesh = unpack(data);
  const canvas = find("surface-canvas", HTMLCanvasElement);
  const words = find("surface-words", HTMLElement);
  canvas.width = canvas.clientWidth * devicePixelRatio;
  canvas.height = canvas.clientHeight * devicePixelRatio;
  const gl = canvas.getContext("webgl", { preserveDrawingBuffer: true });
  seen = { ...FROM_FRONT };
  canvas.dataset.triangles = String(mesh.triangles.length / 3);
  if (gl === null) words.textContent = "This browser cannot draw surfaces.";
  else words.textContent = mesh.triangles.length === 0 ? `${object.name} has no mask yet.` : `${object.name}: drag to turn it.`;
  shown = gl === null || mesh.triangles.length === 0 ? null : prepare(gl, mesh, object.colour);
  if (gl !== null && shown === null) gl.clear(gl.COLOR_BUFFER_BIT);
  redraw();
}

/** @param {ArrayBuffer} data @returns {{corners: Float32Array, triangles: Uint32Array}} */
function unpack(data) {
  const [corners, triangles] = new Uint32Array(data, 0, 2);
  return {
    corners: new Float32Array(data, 8, 3 * corners),
    triangles: new Uint32Array(data, 8 + 12 * corners, 3 * triangles),
  };
}

/** Directions in which the surface faces at its corners: the mean of the triangles there. */
function findNormals(/** @type {Float32Array} */ corners, /** @type {Uint32Array} */ triangles) {
  const normals = new Float32Array(corners.length);
  for (let at = 0; at < triangles.length; at += 3) {
    const [a, b, c] = [3 * triangles[at], 3 * triangles[at + 1], 3 * triangles[at + 2]];
    const u = [0, 1, 2].map((k) => corners[b + k] - corners[a + k]);
    const v = [0, 1, 2].map((k) => corners[c + k] - corners[a + k]);
    const cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    for (const corner of [a, b, c]) for (let k = 0; k < 3; k += 1) normals[corner + k] += cross[k];
  }
  return normals;
}

/**
 * @param {WebGLRenderingContext} gl
 * @param {{corners: Float32Array, triangles: Uint32Array}} mesh
 * @param {string} colour
 */
function prepare(gl, { corners, triangles }, colour) {
  gl.getExtension("OES_element_index_uint");
  const program = link(gl);
  gl.useProgram(program);
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  corners.forEach((value, at) => {
    low[at % 3] = Math.min(low[at % 3], value);
    high[at % 3] = Math.max(high[at % 3], value);
  });
  const size = Math.hypot(...high.map((value, axis) => value - low[axis])) || 1;
  fill(gl, program, "place", corners);
  fill(gl, program, "normal", findNormals(corners, triangles));
  gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, triangles, gl.STATIC_DRAW);
  const uniform = (/** @type {string} */ name) => gl.getUniformLocation(program, name);
  gl.uniform3fv(uniform("middle"), high.map((value, axis) => (value + low[axis]) / 2));
  gl.uniform1f(uniform("scale"), 1.7 / size);
  gl.uniform3fv(uniform("colour"), parseColour(colour).map((value) => value / 255));
  gl.enable(gl.DEPTH_TEST);
  const draw = (/** @type {number[]} */ turn) => {
    const { width, height } = gl.canvas;
    gl.viewport(0, 0, width, height);
    gl.uniform2f(uniform("stretch"), Math.min(1, height / width), Math.min(1, width / height));
    gl.uniformMatrix3fv(uniform("turn"), false, turn);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.drawElements(gl.TRIANGLES, triangles.length, gl.UNSIGNED_INT, 0);
  };
  return { gl, draw };
}

/** @param {WebGLRenderingContext} gl @param {WebGLProgram} program @param {string} name @param {Float32Array} values */
function fill(gl, program, name, values) {
  const place = gl.getAttribLocation(program, name);
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
  gl.enableVertexAttribArray(place);
  gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 0, 0);
}

/** @param {WebGLRenderingContext} gl @returns {WebGLProgram} */
function link(gl) {
  const program = /** @type {WebGLProgram} */ (gl.createProgram());
  for (const [kind, source] of /** @type {[number, string][]} */ ([
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ])) {
    const shader = /** @type {WebGLShader} */ (gl.createShader(kind));
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  return program;
}

/**
 * What is to the right, up and towards the viewer, for each of the patient's axes: a matrix by columns.
 * @param {{around: number, above: number}} from
 */
export function turnOf({ around, above }) {
  const [c, s, d, e] = [Math.cos(around), Math.sin(around), Math.cos(above), Math.sin(above)];
  // At rest the patient's right is to the left, up is superior, and the viewer stands in front.
  const right = [-c, s, 0];
  const forward = [s * d, c * d, e];
  const up = [-s * e, -c * e, d];
  return [0, 1, 2].flatMap((axis) => [right[axis], up[axis], forward[axis]]);
}

function redraw() {
  const turn = turnOf(seen);
  shown?.draw(turn);
  const isPatient = shown !== null && openProject().directions !== null;
  const holder = find("surface-letters", HTMLElement);
  holder.hidden = !isPatient;
  [...holder.children].forEach((element, index) => {
    if (!(element instanceof HTMLElement)) return;
    const [letter, side] = SIDES[index];
    const [x, y, z] = [0, 1, 2].map((row) => side.reduce((sum, value, axis) => sum + value * turn[3 * axis + row], 0));
    element.textContent = letter;
    element.style.left = `${50 + 44 * x}%`;
    element.style.top = `${50 - 44 * y}%`;
    element.style.opacity = String(Math.max(0, Math.min(1, 1 - Math.abs(z))));
  });
}
