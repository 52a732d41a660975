/**
 * Lines between cells of different classes, and the class of any place, as the server found them.
 *
 * A cell has the class of its middle. Where two neighbours differ, `crossings` says how far from one middle to the other
 * the class changes, so that each piece of a line separates two classes, as `evaluation/boundaries.py` joins them.
 */
import { chain, join } from "./contours.js";

/**
 * @typedef {{codes: Int8Array, crossings: Float32Array, grid: number}} Cells
 * crossings: for each cell how far to the next column the class changes, 0 to 1, then for each how far to the next row,
 * then the column and the row where lines meet or bend in the square to its upper right; 0 where they do not
 */

/** Lines x, y, x, y, ... in cells from the lower left corner. @param {Cells} cells @returns {number[][]} */
export function boundaries(cells) {
  const { codes, grid } = cells, found = new Map();
  for (let i = 0; i < grid - 1; i++) {
    for (let a = i * grid; a < (i + 1) * grid - 1; a++) {
      if (codes[a] === codes[a + 1] && codes[a] === codes[a + grid] && codes[a] === codes[a + grid + 1]) continue;
      for (const [one, other] of pieces(cells, a)) join(found, one, other);
    }
  }
  return chain(found).map((nodes) => toFrame(nodes.map((node) => placeOf(cells, node)), grid).flat());
}

/** Sides of the square whose lower left corner is the middle of a cell: bottom, right, top, left. */
const sidesOf = (a, grid) => [2 * a, 2 * (a + 1) + 1, 2 * (a + grid), 2 * a + 1];
const cornersOf = (a, grid) => [a, a + 1, a + grid + 1, a + grid];

/** Pairs of nodes that a piece of a line joins in a square; a node is a side, or the middle of the square. */
function pieces(cells, a) {
  const { codes, grid } = cells;
  const c = cornersOf(a, grid).map((cell) => codes[cell]), sides = sidesOf(a, grid);
  const crossed = [0, 1, 2, 3].filter((side) => c[side] !== c[(side + 1) % 4]);
  if (crossed.length === 2 && !cells.crossings[2 * grid * grid + a]) return [crossed.map((side) => sides[side])];
  const even = c[0] === c[2], odd = c[1] === c[3];
  if (crossed.length === 4 && (even || odd)) {
    const cut = [0, 1].map((first) => [first, first + 2].map((corner) => [sides[(corner + 3) % 4], sides[corner]]));
    return cut[even && (!odd || long(cells, cut[1]) <= long(cells, cut[0])) ? 1 : 0];
  }
  return crossed.map((side) => [sides[side], 2 * grid * grid + a]);
}

const long = (cells, parts) => parts.reduce((sum, [one, other]) => {
  const [ax, ay] = placeOf(cells, one), [bx, by] = placeOf(cells, other);
  return sum + Math.hypot(ax - bx, ay - by);
}, 0);

function placeOf({ crossings, grid }, node) {
  const all = grid * grid, cell = node < 2 * all ? node >> 1 : node - 2 * all;
  const [x, y] = [(cell % grid) + 0.5, Math.floor(cell / grid) + 0.5];
  if (node >= 2 * all) return [x + crossings[2 * all + cell], y + crossings[3 * all + cell]];
  return node & 1 ? [x, y + crossings[all + cell]] : [x + crossings[cell], y];
}

/** A line that ends at the outermost middles goes on to the sides of the plane as it came. */
function toFrame(places, grid) {
  const open = (places) => {
    const [[x, y], [bx, by]] = places;
    const axis = y === 0.5 || y === grid - 0.5 ? 1 : x === 0.5 || x === grid - 0.5 ? 0 : -1;
    if (axis < 0) return places;
    const out = [x, y][axis] === 0.5 ? -0.5 : 0.5, along = axis ? y - by : x - bx, aside = axis ? x - bx : y - by;
    const more = along * out > 0 ? Math.max(-0.5, Math.min(0.5, (aside / along) * out)) : 0;
    return [axis ? [x + more, y + out] : [x + out, y + more], ...places];
  };
  return open(open(places).reverse()).reverse();
}

/** The class of a place, in cells from the lower left corner. @param {Cells} cells */
export function classAt(cells) {
  const { codes, grid } = cells, inside = (at) => Math.min(grid - 1, Math.max(0, at - 0.5));
  return (x, y) => {
    const across = inside(x), upwards = inside(y);
    const j = Math.min(grid - 2, Math.floor(across)), i = Math.min(grid - 2, Math.floor(upwards));
    return codes[visibleCorner(cells, i * grid + j, linesIn(cells, i * grid + j), across - j, upwards - i)];
  };
}

/** The pieces of a square, each x, y, x, y from its lower left corner. @param {Cells} cells */
export function linesIn(cells, a) {
  const x = (a % cells.grid) + 0.5, y = Math.floor(a / cells.grid) + 0.5;
  return pieces(cells, a).map((nodes) => nodes.flatMap((node) => {
    const [px, py] = placeOf(cells, node);
    return [px - x, py - y];
  }));
}

/** The cell at a corner of a square that no line of it hides from a place; the nearest where there is none. */
export function visibleCorner({ grid }, a, lines, x, y) {
  for (const nearest of [true, false]) {
    for (let corner = 0; corner < 4; corner++) {
      const cx = corner === 1 || corner === 2 ? 1 : 0, cy = corner > 1 ? 1 : 0;
      const near = cx === (x < 0.5 ? 0 : 1) && cy === (y < 0.5 ? 0 : 1);
      if (near === nearest && lines.every((line) => !meet(x, y, cx, cy, line))) return a + cx + cy * grid;
    }
  }
  return a + (x < 0.5 ? 0 : 1) + (y < 0.5 ? 0 : grid);
}

/** Whether the way from a place to a corner goes through a piece of a line. */
function meet(x, y, cx, cy, [ax, ay, bx, by]) {
  const one = (bx - ax) * (y - ay) - (by - ay) * (x - ax), other = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
  if (one > 0 === other > 0) return false;
  return (cx - x) * (ay - y) - (cy - y) * (ax - x) > 0 !== (cx - x) * (by - y) - (cy - y) * (bx - x) > 0;
}
