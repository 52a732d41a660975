/**
 * From an answer of the server to what the plane paints: tints, hatching, lines.
 *
 * The server classifies the middle of each cell and says where between two of them the class changes: lines go through
 * these places, and tints end at the lines.
 */
import { bytes } from "./api.js";
import { boundaries, classAt, linesIn, visibleCorner } from "./boundaries.js";
import { channels, classColour, scheme } from "./colours.js";
import { contours, idleParts } from "./contours.js";

/**
 * @typedef {Object} Regions
 * @property {string[]} labels
 * @property {Int8Array} codes one for each cell; -1: the rule gives no class; -2: undecided; -3: no model yet
 * @property {Float32Array} crossings where the class changes, as in `Cells` of boundaries.js
 * @property {string} undecided why cells are undecided
 * @property {Float32Array[]} fields the score of each boundary, 0 on it; of several classes the lead of the best
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
 * @property {boolean} undecided whether cells are
 * @property {boolean} noClass whether the rule leaves cells without a class
 * @property {number[][]} lines between two regions
 * @property {number[][]} idle lines of a pair or of one class that bound nothing where they are
 * @property {number[][]} margins
 */

const MOST_MARGINS = 3; // boundaries whose margins are drawn: more are a tangle
export const NO_CLASS = -1, UNDECIDED = -2, NOTHING = -3; // codes of cells
const SHARES = 256; // parts of the way to the next cell

/** The arrays of an answer. @returns {Regions} */
export function regions(answer, window) {
  const { labels, grid, margins } = answer;
  const raw = bytes(answer.fields);
  const all = new Float32Array(raw.buffer, 0, raw.length >> 2);
  const cells = grid * grid;
  const codes = new Int8Array(bytes(answer.codes).buffer);
  const fields = Array.from({ length: answer.boundaries }, (_, p) => all.subarray(p * cells, (p + 1) * cells));
  const crossings = new Float32Array(4 * cells), shares = bytes(answer.crossings);
  new Uint32Array(bytes(answer.crossed).buffer).forEach((place, i) => { crossings[place] = shares[i] / SHARES; });
  const own = !answer.rule || answer.rule === "predict", undecided = answer.undecided ?? "";
  return { labels, grid, margins: Boolean(margins), window, fields, codes, crossings, undecided, own, unfinished: Boolean(answer.unfinished), ellipses: answer.ellipses ?? [] };
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
  if (flat) codes.fill(NOTHING); // no line yet: nothing to tint, nothing to hatch
  const fields = flat ? [] : W.length === 1 ? scores : [leads(scores, codes)];
  const crossings = linearCrossings(W.length === 1 ? [scores[0].map((score) => -score), scores[0]] : scores, codes, grid);
  return { labels, codes, crossings, undecided: "", fields, grid, margins, window, own: true, unfinished: false, ellipses: [] };
}

/** Where on the way to the next cell the lead of one class over the other is 0; three lines meet amid their crossings. */
function linearCrossings(scores, codes, grid) {
  const cells = grid * grid, crossings = new Float32Array(4 * cells);
  const cross = (cell, next, at) => {
    const one = codes[cell], other = codes[next];
    if (one === other) return;
    const here = scores[one][cell] - scores[other][cell], there = scores[one][next] - scores[other][next];
    crossings[at] = Math.min(1 - 1 / SHARES, Math.max(1 / SHARES, here / (here - there) || 0.5));
  };
  for (let cell = 0; cell < cells; cell++) {
    if ((cell + 1) % grid) cross(cell, cell + 1, cell);
    if (cell + grid < cells) cross(cell, cell + grid, cells + cell);
  }
  for (let a = 0; a < cells - grid; a++) {
    const sides = [[crossings[a], 0], [1, crossings[cells + a + 1]], [crossings[a + grid], 1], [0, crossings[cells + a]]];
    const crossed = sides.filter(([x, y]) => x && y || x + y > 1 || (x + y > 0 && x + y < 1));
    if ((a + 1) % grid === 0 || crossed.length < 3) continue;
    for (const axis of [0, 1]) crossings[(2 + axis) * cells + a] = crossed.reduce((sum, place) => sum + place[axis], 0) / crossed.length;
  }
  return crossings;
}

function best(scores, cell) {
  let found = 0;
  for (let k = 1; k < scores.length; k++) if (scores[k][cell] > scores[found][cell]) found = k;
  return found;
}

/** By how much the best class of each cell leads the next. */
const leads = (scores, codes) => Float32Array.from(codes, (best_, cell) =>
  scores.reduce((least, score, k) => (k === best_ ? least : Math.min(least, scores[best_][cell] - score[cell])), Infinity));

/**
 * @param {Regions} found
 * @param {string[]} classes whose colours are meant, in order
 * @returns {Picture}
 */
export function picture(found, classes) {
  const colours = found.labels.map((label) => channels(classColour(Math.max(0, classes.indexOf(label)))));
  const factor = found.grid <= 100 ? 4 : 2;
  const shown = found.unfinished ? { ...found, codes: new Int8Array(found.codes.length).fill(NO_CLASS), fields: [] } : found;
  const { tint, open } = paintCells(shown, factor, colours);
  const idle = found.own || found.unfinished ? [] : idleParts(shown.fields.flatMap((field) => contours(field, found.grid)), classAt(shown));
  return {
    window: found.window,
    grid: found.grid,
    tint: asCanvas(tint, factor * found.grid),
    hatched: open && asCanvas(open, factor * found.grid),
    unfinished: Boolean(found.unfinished),
    ellipses: (found.ellipses ?? []).map((one) => ({ ...one, colour: classColour(Math.max(0, classes.indexOf(one.label))) })),
    undecided: shown.codes.includes(UNDECIDED),
    noClass: shown.codes.includes(NO_CLASS),
    lines: boundaries(shown),
    idle,
    margins: found.margins && !found.unfinished && found.fields.length <= MOST_MARGINS ? found.fields.flatMap((f) => [...contours(f, found.grid, 1), ...contours(f, found.grid, -1)]) : [],
  };
}

/**
 * The tint of each place and the places without a class, on a grid `factor` times as fine, highest row first. Pixels
 * hold alpha, blue, green and red in one number. This runs at every move of a slider: nothing is made in its loops.
 */
function paintCells(cells, factor, colours) {
  const { codes, fields, grid } = cells;
  const side = grid * factor;
  const alpha = strengths(fields, grid * grid);
  const squares = Array.from({ length: grid * (grid - 1) }, (_, a) => (isPlain(codes, grid, a) ? null : linesIn(cells, a)));
  const packed = colours.map(([red, green, blue]) => (blue << 16) | (green << 8) | red);
  const { before, beyond } = betweenCells(side, factor, grid);
  const tint = new Uint32Array(side * side), open = codes.includes(NO_CLASS) || codes.includes(UNDECIDED) ? new Uint32Array(side * side) : null;
  const across = new Float32Array(grid); // the alpha along one fine row, at the middles
  for (let v = 0; v < side; v++) {
    const row = before[v] * grid, up = beyond[v];
    for (let j = 0; j < grid; j++) across[j] = alpha[row + j] + up * (alpha[row + j + grid] - alpha[row + j]);
    for (let u = 0, at = (side - 1 - v) * side; u < side; u++, at++) {
      const j = before[u], right = beyond[u], a = row + j;
      const code = codes[squares[a] ? visibleCorner(cells, a, squares[a], right, up) : a];
      if (code >= 0) tint[at] = ((across[j] + right * (across[j + 1] - across[j])) << 24) | packed[code];
      else if (code !== NOTHING) open[at] = 0xff000000;
    }
  }
  return { tint, open };
}

/** Whether a cell has the class of those to its right and above. */
const isPlain = (codes, grid, a) => codes[a] === codes[a + 1] && codes[a] === codes[a + grid] && codes[a] === codes[a + grid + 1];

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

/** Rows whose place has another class than their own, as far as the cells show it. */
export function wrongRows(found, points, classes) {
  const { grid, labels, window: [x0, x1, y0, y1] } = found;
  const codeOf = classAt(found);
  return points.flatMap(([x, y, c], row) => {
    const code = codeOf(((x - x0) / (x1 - x0)) * grid, ((y - y0) / (y1 - y0)) * grid);
    return code === UNDECIDED || labels[code] === classes[c] ? [] : [row];
  });
}
