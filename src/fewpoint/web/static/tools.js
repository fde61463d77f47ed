/** What does a press, a drag and a release on the image do? One entry a tool. */

import { boxTool } from "./box-tool.js";
import { brushTool } from "./brush-tool.js";
import { lineTool } from "./lasso-tool.js";
import { crossTool, panTool, windowTool } from "./view-tools.js";
import { pointTool } from "./point-tool.js";
import { rulerTool } from "./ruler-tool.js";

/**
 * @typedef {object} Pointer
 * @property {{y: number, x: number}} position  in the image, as a fraction of pixels
 * @property {{y: number, x: number}} pixel  the nearest one
 * @property {import("./crosshair.js").Place} place  of the volume at that pixel
 * @property {{y: number, x: number}} screen  in CSS pixels of the canvas
 * @property {boolean} inside  whether it lies on the image
 * @property {boolean} other  whether the key for the tool's other meaning is held
 */

/**
 * @typedef {object} Tool
 * @property {string} cursor  the name of the mouse cursor
 * @property {(pointer: Pointer, stage: import("./stage.js").Stage) => void} press
 * @property {(pointer: Pointer, stage: import("./stage.js").Stage) => void} drag
 * @property {(pointer: Pointer, stage: import("./stage.js").Stage) => void} release
 * @property {() => void} abandon  forget a drag that was begun
 * @property {(context: CanvasRenderingContext2D, stage: import("./stage.js").Stage) => void} draw  on top
 * @property {boolean} [byKeys]  whether a press by keys is followed by a release with the next one, as for a box
 */

/** @type {Record<import("./store.js").ToolName, Tool>} */
export const TOOLS = {
  point: pointTool(true),
  negative: pointTool(false),
  box: boxTool,
  brush: brushTool(1),
  eraser: brushTool(0),
  lasso: lineTool("lasso"),
  scribble: lineTool("scribble"),
  cross: crossTool,
  ruler: rulerTool,
  window: windowTool,
  pan: panTool,
};
