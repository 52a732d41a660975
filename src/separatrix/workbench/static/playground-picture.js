/**
 * From an answer of the server to what the plane paints: tints, hatching, lines.
 *
 * The server classifies the middle of each cell. Between four middles the fields are taken as bilinear, and a place
 * has the class of the middle around it on the same sides of all boundaries, so that tints end where lines are.
 */
import { bytes } from "./api.js";
import { channels, classColour, scheme } from "./colours.js";
import { contours } from "./contours.js";

/**
 * @typedef {Object} Regions
 * @property {string[]} labels
 * @property {Int8Array} codes one for each cell; -1: the rule gives no class
 * @property {Float32Array[]} fields one for each boundary, 0 on it
 * @property {number} grid
 * @property {boolean} margins whether +1 and -1 are margins
 * @property {[number, number, number, number]} window
 *
 * @typedef {Object} Picture
 * @property {[number, number, number, number]} window
 * @property {number} grid
 * @property {HTMLCanvasElement} tint
 * @property {HTMLCanvasElement|null} hatched
 * @property {number[][]} lines
 * @property {number[][]} margins
 */

const MOST_SIDES = 30; // boundaries whose sides fit in the bits of one number

/** The arrays of an answer. @returns {Regions} */
export function regions(answer, window) {
  const { labels, grid, margins } = answer;
  const raw = bytes(answer.fields);
  const all = new Float32Array(raw.buffer, 0, raw.length >> 2);
  const cells = grid * grid;
  const fields = Array.from({ length: answer.boundaries }, (_, p) => all.subarray(p * cells, (p + 1) * cells));
  return { labels, grid, margins: Boolean(margins), window, fields, codes: new Int8Array(bytes(answer.codes).buffer) };
}

/** The regions of linear functions: one gives two classes, several the largest. @returns {Regions} */
export function linearRegions({ labels, W, b, margins, window, grid = 100 }) {
  const [x0, x1, y0, y1] = window;
  const scores = W.map(() => new Float32Array(grid * grid));
  const codes = new Int8Array(grid * grid);
  for (let i = 0, cell = 0; i < grid; i++) {
    const y = y0 + ((i + 0.5) / grid) * (y1 - y0);
    for (let j = 0; j < grid; j++, cell++) {
      const x = x0 + ((j + 0.5) / grid) * (x1 - x0);
      W.forEach((w, k) => { scores[k][cell] = w[0] * x + w[1] * y + b[k]; });
      codes[cell] = W.length === 1 ? Number(scores[0][cell] > 0) : best(scores, cell);
    }
  }
  const flat = W.every((w) => w[0] === 0 && w[1] === 0);
  if (flat) codes.fill(-2); // no line yet: nothing to tint, nothing to hatch
  const fields = flat ? [] : W.length === 1 ? scores : leads(scores);
  return { labels, codes, fields, grid, margins, window };
}

function best(scores, cell) {
  let found = 0;
  for (let k = 1; k < scores.length; k++) if (scores[k][cell] > scores[found][cell]) found = k;
  return found;
}

/** By how much each class leads the best of the others. */
const leads = (scores) => scores.map((own, k) => own.map((score, cell) => {
  let other = -Infinity;
  for (let m = 0; m < scores.length; m++) if (m !== k && scores[m][cell] > other) other = scores[m][cell];
  return score - other;
}));

/**
 * @param {Regions} found
 * @param {string[]} classes whose colours are meant, in order
 * @returns {Picture}
 */
export function picture(found, classes) {
  const factor = found.fields.length <= 6 ? 4 : 2;
  const fine = sharpened(found, factor);
  return {
    window: found.window,
    grid: found.grid,
    tint: tinted(fine, found.labels.map((label) => channels(classColour(Math.max(0, classes.indexOf(label)))))),
    hatched: fine.codes.includes(-1) ? hatched(fine) : null,
    lines: found.fields.flatMap((field) => contours(field, found.grid)),
    margins: found.margins ? found.fields.flatMap((f) => [...contours(f, found.grid, 1), ...contours(f, found.grid, -1)]) : [],
  };
}

/** Codes and how clear they are, on a grid `factor` times as fine. */
function sharpened({ codes, fields, grid }, factor) {
  const side = grid * factor;
  const sides = sidesOf(fields, grid * grid);
  const clear = clearness(fields, grid * grid);
  const fine = { side, codes: new Int8Array(side * side), clear: new Float32Array(side * side) };
  const { before, beyond } = betweenCells(side, factor, grid);
  for (let v = 0, at = 0; v < side; v++) {
    const row = before[v] * grid, up = beyond[v];
    for (let u = 0; u < side; u++, at++) {
      const a = row + before[u], right = beyond[u];
      fine.clear[at] = mixed(clear, a, grid, right, up);
      const nearest = a + (right < 0.5 ? 0 : 1) + (up < 0.5 ? 0 : grid);
      const here = sides[a];
      const same = here === sides[a + 1] && here === sides[a + grid] && here === sides[a + grid + 1];
      fine.codes[at] = codes[same ? nearest : onSameSides(nearest, sides, fields, a, grid, right, up)];
    }
  }
  return fine;
}

/** For each fine cell the one before it, and how far it lies beyond that one's middle towards the next. */
function betweenCells(side, factor, grid) {
  const before = new Int32Array(side), beyond = new Float32Array(side);
  for (let fine = 0; fine < side; fine++) {
    const at = Math.min(grid - 1, Math.max(0, (fine + 0.5) / factor - 0.5));
    before[fine] = Math.min(grid - 2, Math.floor(at));
    beyond[fine] = at - before[fine];
  }
  return { before, beyond };
}

const mixed = (values, a, grid, right, up) =>
  (1 - up) * ((1 - right) * values[a] + right * values[a + 1]) + up * ((1 - right) * values[a + grid] + right * values[a + grid + 1]);

/** Of the four cells around a place, one on the same sides of all boundaries; the nearest where there is none. */
function onSameSides(nearest, sides, fields, a, grid, right, up) {
  let here = 0;
  for (let p = 0; p < fields.length && p < MOST_SIDES; p++) if (mixed(fields[p], a, grid, right, up) > 0) here |= 1 << p;
  for (const cell of [nearest, a, a + 1, a + grid, a + grid + 1]) if (sides[cell] === here) return cell;
  return nearest;
}

function sidesOf(fields, cells) {
  const sides = new Int32Array(cells);
  fields.slice(0, MOST_SIDES).forEach((field, p) => {
    for (let cell = 0; cell < cells; cell++) if (field[cell] > 0) sides[cell] |= 1 << p;
  });
  return sides;
}

/** How far a cell is from the nearest boundary, in units of the fields, squeezed into 0..1: near it the tint is faint. */
function clearness(fields, cells) {
  const clear = new Float32Array(cells).fill(fields.length ? Infinity : 0);
  for (const field of fields) {
    for (let cell = 0; cell < cells; cell++) clear[cell] = Math.min(clear[cell], Math.abs(field[cell]));
  }
  const mean = clear.reduce((sum, value) => sum + value, 0) / cells || 1;
  return clear.map((value) => (1.4 * value) / (value + 0.7 * mean) - 0.2);
}

function tinted({ side, codes, clear }, colours) {
  const [faint, strong] = scheme() === "dark" ? [46, 116] : [30, 92];
  const packed = colours.map(([red, green, blue]) => (blue << 16) | (green << 8) | red);
  return painted(side, (cell) => {
    const code = codes[cell];
    return code < 0 ? 0 : ((faint + (strong - faint) * Math.min(1, Math.max(0, clear[cell]))) << 24) | packed[code];
  });
}

const hatched = ({ side, codes }) => painted(side, (cell) => (codes[cell] === -1 ? 0xff000000 : 0));

/** A small canvas, highest row first; `of` gives the alpha, blue, green and red of a cell in one number. */
function painted(side, of) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = side;
  const context = canvas.getContext("2d");
  const image = context.createImageData(side, side);
  const pixels = new Uint32Array(image.data.buffer);
  for (let v = 0, cell = 0; v < side; v++) {
    for (let u = 0, at = (side - 1 - v) * side; u < side; u++, at++, cell++) pixels[at] = of(cell);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** Rows whose place has another class than their own, as far as the cells can tell. */
export function wrongRows(found, points, classes) {
  const { grid, codes, labels, window: [x0, x1, y0, y1] } = found;
  const sides = sidesOf(found.fields, grid * grid);
  const code = (x, y) => {
    const across = Math.min(grid - 1, Math.max(0, ((x - x0) / (x1 - x0)) * grid - 0.5));
    const upwards = Math.min(grid - 1, Math.max(0, ((y - y0) / (y1 - y0)) * grid - 0.5));
    const j = Math.min(grid - 2, Math.floor(across)), i = Math.min(grid - 2, Math.floor(upwards));
    const a = i * grid + j;
    const nearest = Math.round(upwards) * grid + Math.round(across);
    return codes[onSameSides(nearest, sides, found.fields, a, grid, across - j, upwards - i)];
  };
  return points.flatMap(([x, y, c], row) => (labels[code(x, y)] === classes[c] ? [] : [row]));
}
