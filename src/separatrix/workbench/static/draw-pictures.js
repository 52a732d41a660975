/**
 * Small pictures: ink on paper at their own resolution, and evidence as squares that speak for or against.
 */
import { bytes } from "./api.js";
import { channels, classColour, plain } from "./colours.js";
import { h } from "./dom.js";

const INK = [26, 28, 34];

/** A canvas for pictures of any resolution. @param {string} words what it shows @param {string} [kind] a class */
export const picture = (words, kind = "") =>
  h("canvas", { class: `draw-picture pixels ${kind}`, role: "img", "aria-label": words, width: 8, height: 8 });

/**
 * Put a picture (0 = paper, 255 = ink) on a canvas, one pixel for each of its own.
 *
 * @param {HTMLCanvasElement} canvas @param {string} image base64
 */
export function show(canvas, image) {
  const values = bytes(image);
  const side = Math.round(Math.sqrt(values.length));
  canvas.width = canvas.height = side; // this clears it, too
  const pixels = new ImageData(side, side);
  for (let i = 0; i < values.length; i++) { // no array for each pixel: many pictures, many times a second
    [pixels.data[4 * i], pixels.data[4 * i + 1], pixels.data[4 * i + 2]] = INK;
    pixels.data[4 * i + 3] = values[i];
  }
  canvas.getContext("2d").putImageData(pixels, 0, 0);
}

/** @param {HTMLCanvasElement} canvas */
export function wipe(canvas) {
  canvas.width = canvas.width;
}

/**
 * Evidence over the drawing. The size of a square is the weight of its pixel; full: for the answer, hollow: against.
 *
 * @param {HTMLCanvasElement} canvas @param {string} image base64 @param {string} evidence base64, 128 = nothing
 */
export function showEvidence(canvas, image, evidence) {
  const ink = bytes(image);
  const signs = bytes(evidence);
  const side = Math.round(Math.sqrt(signs.length));
  const cell = Math.max(6, Math.ceil((280 * devicePixelRatio) / side));
  const colours = plain();
  canvas.width = canvas.height = side * cell;
  const context = canvas.getContext("2d");
  const [red, green, blue] = channels(colours.quiet);
  for (let i = 0; i < signs.length; i++) {
    const [x, y] = [(i % side) * cell, Math.floor(i / side) * cell];
    context.fillStyle = `rgb(${red} ${green} ${blue} / ${(0.28 * ink[i]) / 255})`;
    context.fillRect(x, y, cell, cell);
    const speaks = Math.max(-1, (signs[i] - 128) / 127);
    const size = cell * 0.92 * Math.sqrt(Math.abs(speaks));
    if (size >= cell * 0.12) square(context, x + cell / 2, y + cell / 2, size, speaks > 0);
  }
}

function square(context, x, y, size, full) {
  context.fillStyle = context.strokeStyle = classColour(full ? 0 : 1);
  if (full) return context.fillRect(x - size / 2, y - size / 2, size, size);
  const edge = Math.max(1, size / 5);
  context.lineWidth = edge;
  context.strokeRect(x - (size - edge) / 2, y - (size - edge) / 2, size - edge, size - edge);
}
