/**
 * From an answer of the server to what the plane paints: tints, hatching, lines.
 *
 * The server classifies the middle of each cell. Between four middles the fields are taken as bilinear, and a place
 * has the class of the middle around it on the same sides of all boundaries, so that tints end where lines are.
 */
import { bytes } from "./api.js";
import { channels, classColour, scheme } from "./colours.js";
import { boundingParts, contours } from "./contours.js";

/**
 * @typedef {Object} Regions
 * @property {string[]} labels
 * @property {Int8Array} codes one for each cell; -1: the rule gives no class
 * @property {Float32Array[]} fields one for each boundary, 0 on it
 * @property {number} grid
 * @property {boolean} margins whether +1 and -1 are margins
 * @property {boolean} [unfinished] whether the fit was stopped: it is no answer
 * @property {[number, number, number, number]} window
 *
 * @typedef {Object} Picture
 * @property {[number, number, number, number]} window
 * @property {number} grid
 * @property {HTMLCanvasElement} tint
 * @property {HTMLCanvasElement|null} hatched
 * @property {number[][]} lines between two regions
 * @property {number[][]} idle lines of a pair or of one class that bound nothing where they are
 * @property {number[][]} margins
 */

const MOST_MARGINS = 3; // boundaries whose margins are drawn: more are a tangle
const MOST_SIDES = 30; // boundaries whose sides fit in the bits of one number

/** The arrays of an answer. @returns {Regions} */
export function regions(answer, window) {
  const { labels, grid, margins } = answer;
  const raw = bytes(answer.fields);
  const all = new Float32Array(raw.buffer, 0, raw.length >> 2);
  const cells = grid * grid;
  const codes = new Int8Array(bytes(answer.codes).buffer);
  const raws = Array.from({ length: answer.boundaries }, (_, p) => all.subarray(p * cells, (p + 1) * cells));
  const own = !answer.rule || answer.rule === "predict";
  const fields = own && answer.steps && raws.length ? smoothLeads(codes, grid, labels.length) : raws;
  return { labels, grid, margins: Boolean(margins), window, fields, codes, own, unfinished: Boolean(answer.unfinished), ellipses: answer.ellipses ?? [] };
}

const SURE = 0.04; // lead of a cell's own class where its neighbours would outvote it

/**
 * Leads of the classes where only the cells are known: shares of the cells around, by which a straight edge is
 * straight and not a staircase. Every cell keeps its class. Of two classes the second one's lead is enough.
 */
function smoothLeads(codes, grid, classes) {
  const shares = Array.from({ length: classes }, (_, c) => blur(blur(Float32Array.from(codes, (code) => Number(code === c)), grid), grid));
  const found = leads(shares);
  found.forEach((lead, c) => {
    for (let cell = 0; cell < lead.length; cell++) lead[cell] = codes[cell] === c ? Math.max(SURE, lead[cell]) : Math.min(-SURE, lead[cell]);
  });
  return classes === 2 ? [found[1]] : found;
}

/** The mean of a cell and those around it, weighted 1 2 1 both ways. */
function blur(values, grid) {
  const pass = (from, stride, line) => from.map((value, cell) => {
    const at = Math.floor(cell / stride) % grid;
    return 0.5 * value + 0.25 * (from[at ? cell - stride : cell] + from[at < line - 1 ? cell + stride : cell]);
  });
  return pass(pass(values, 1, grid), grid, grid);
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
  return { labels, codes, fields, grid, margins, window, own: true, unfinished: false, ellipses: [] };
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
  const colours = found.labels.map((label) => channels(classColour(Math.max(0, classes.indexOf(label)))));
  const factor = found.fields.length <= 6 ? 4 : 2;
  const shown = found.unfinished ? { ...found, codes: new Int8Array(found.codes.length).fill(-1), fields: [] } : found;
  const { tint, open } = paintCells(shown, factor, colours);
  const all = shown.fields.map((field) => contours(field, found.grid));
  const { lines, idle } = found.own ? { lines: all.flat(), idle: [] } : boundingParts(all.flat(), classAt(shown));
  return {
    window: found.window,
    grid: found.grid,
    tint: asCanvas(tint, factor * found.grid),
    hatched: open && asCanvas(open, factor * found.grid),
    unfinished: Boolean(found.unfinished),
    ellipses: (found.ellipses ?? []).map((one) => ({ ...one, colour: classColour(Math.max(0, classes.indexOf(one.label))) })),
    lines,
    idle,
    margins: found.margins && !found.unfinished && found.fields.length <= MOST_MARGINS ? found.fields.flatMap((f) => [...contours(f, found.grid, 1), ...contours(f, found.grid, -1)]) : [],
  };
}

/**
 * The tint of each place and the places without a class, on a grid `factor` times as fine, highest row first. Pixels
 * hold alpha, blue, green and red in one number. This runs at every move of a slider: nothing is made in its loops.
 */
function paintCells({ codes, fields, grid }, factor, colours) {
  const side = grid * factor;
  const alpha = strengths(fields, grid * grid);
  const sides = sidesOf(fields, grid * grid);
  const plain = plainSquares(codes, sides, grid);
  const packed = colours.map(([red, green, blue]) => (blue << 16) | (green << 8) | red);
  const { before, beyond } = betweenCells(side, factor, grid);
  const tint = new Uint32Array(side * side), open = codes.includes(-1) ? new Uint32Array(side * side) : null;
  const across = new Float32Array(grid); // the alpha along one fine row, at the middles
  for (let v = 0; v < side; v++) {
    const row = before[v] * grid, up = beyond[v];
    for (let j = 0; j < grid; j++) across[j] = alpha[row + j] + up * (alpha[row + j + grid] - alpha[row + j]);
    for (let u = 0, at = (side - 1 - v) * side; u < side; u++, at++) {
      const j = before[u], right = beyond[u], a = row + j;
      const code = codes[plain[a] ? a : onSameSides(sides, fields, a, grid, right, up)];
      if (code >= 0) tint[at] = ((across[j] + right * (across[j + 1] - across[j])) << 24) | packed[code];
      else if (code === -1) open[at] = 0xff000000;
    }
  }
  return { tint, open };
}

/** 1 for a cell that has the class and the sides of those to its right and above: all is alike between their middles. */
function plainSquares(codes, sides, grid) {
  const plain = new Uint8Array(grid * grid);
  const alike = (a, b) => codes[a] === codes[b] && sides[a] === sides[b];
  for (let i = 0; i < grid - 1; i++) {
    for (let a = i * grid; a < (i + 1) * grid - 1; a++) {
      plain[a] = Number(alike(a, a + 1) && alike(a, a + grid) && alike(a, a + grid + 1));
    }
  }
  return plain;
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

const interpolate = (values, a, grid, right, up) =>
  (1 - up) * ((1 - right) * values[a] + right * values[a + 1]) + up * ((1 - right) * values[a + grid] + right * values[a + grid + 1]);

/** Of the four cells around a place, one on the same sides of all boundaries; the nearest where there is none. */
function onSameSides(sides, fields, a, grid, right, up) {
  const nearest = a + (right < 0.5 ? 0 : 1) + (up < 0.5 ? 0 : grid);
  let here = 0;
  for (let p = 0; p < fields.length && p < MOST_SIDES; p++) if (interpolate(fields[p], a, grid, right, up) > 0) here |= 1 << p;
  if (sides[nearest] === here) return nearest;
  if (sides[a] === here) return a;
  if (sides[a + 1] === here) return a + 1;
  if (sides[a + grid] === here) return a + grid;
  return sides[a + grid + 1] === here ? a + grid + 1 : nearest;
}

function sidesOf(fields, cells) {
  const sides = new Int32Array(cells);
  fields.slice(0, MOST_SIDES).forEach((field, p) => {
    for (let cell = 0; cell < cells; cell++) if (field[cell] > 0) sides[cell] |= 1 << p;
  });
  return sides;
}

/** How strong the tint of a cell is, as alpha: faint near a boundary, in units of the fields. */
function strengths(fields, cells) {
  const [faint, strong] = scheme() === "dark" ? [46, 116] : [30, 92];
  const clear = new Float32Array(cells).fill(fields.length ? Infinity : 0);
  for (const field of fields) {
    for (let cell = 0; cell < cells; cell++) clear[cell] = Math.min(clear[cell], Math.abs(field[cell]));
  }
  let sum = 0;
  for (let cell = 0; cell < cells; cell++) sum += clear[cell];
  const mean = sum / cells || 1;
  for (let cell = 0; cell < cells; cell++) {
    const share = (1.4 * clear[cell]) / (clear[cell] + 0.7 * mean) - 0.2;
    clear[cell] = faint + (strong - faint) * Math.min(1, Math.max(0, share));
  }
  return clear;
}

/** A canvas of these pixels. @param {Uint32Array} pixels */
function asCanvas(pixels, side) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = side;
  canvas.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), side, side), 0, 0);
  return canvas;
}

/** The class of a place, in cells from the lower left corner. @param {Regions} found */
function classAt({ codes, fields, grid }) {
  const sides = sidesOf(fields, grid * grid);
  const inside = (at) => Math.min(grid - 1, Math.max(0, at - 0.5));
  return (x, y) => {
    const across = inside(x), upwards = inside(y);
    const j = Math.min(grid - 2, Math.floor(across)), i = Math.min(grid - 2, Math.floor(upwards));
    return codes[onSameSides(sides, fields, i * grid + j, grid, across - j, upwards - i)];
  };
}

/** Rows whose place has another class than their own, as far as the cells show it. */
export function wrongRows(found, points, classes) {
  const { grid, labels, window: [x0, x1, y0, y1] } = found;
  const code = classAt(found);
  return points.flatMap(([x, y, c], row) => (labels[code(((x - x0) / (x1 - x0)) * grid, ((y - y0) / (y1 - y0)) * grid)] === classes[c] ? [] : [row]));
}
