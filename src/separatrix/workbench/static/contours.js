/**
 * Lines along which a field of the plane has one value, by marching squares.
 *
 * A field holds one number for the middle of each cell of a square grid, row by row, lowest row first. Lines are
 * lists x, y, x, y, ... in cells: 0 is the left (lower) side of the plane, `grid` the right (upper) one.
 */

/** Which sides of a square a line joins, by the corners above the level: 0 bottom, 1 right, 2 top, 3 left. */
const JOINED = [
  [], [[3, 0]], [[0, 1]], [[3, 1]], [[1, 2]], [], [[0, 2]], [[3, 2]],
  [[2, 3]], [[2, 0]], [], [[2, 1]], [[1, 3]], [[1, 0]], [[0, 3]], [],
];
const SADDLES = { 5: [[[3, 2], [1, 0]], [[3, 0], [1, 2]]], 10: [[[0, 3], [2, 1]], [[0, 1], [2, 3]]] };

/**
 * @param {Float32Array} field
 * @param {number} grid cells along each side
 * @param {number} [level]
 * @returns {number[][]}
 */
export function contours(field, grid, level = 0) {
  const side = grid + 2;
  const values = addFrame(field, grid, level);
  return chain(joints(values, side)).map((edges) => edges.flatMap((edge) => crossing(values, side, edge)));
}

/**
 * Parts of lines that bound nothing where they are: the line of one pair of classes goes on through the region of a
 * third.
 *
 * @param {number[][]} lines @param {(x: number, y: number) => number} classAt the class of a place, in cells
 */
export function idleParts(lines, classAt) {
  const found = [];
  for (const line of lines) {
    let part = null;
    for (let i = 0; i + 3 < line.length; i += 2) {
      const [ax, ay, bx, by] = line.slice(i, i + 4);
      const long = Math.hypot(bx - ax, by - ay) || 1;
      const [nx, ny] = [(by - ay) / long, (ax - bx) / long], [mx, my] = [(ax + bx) / 2, (ay + by) / 2];
      if (classAt(mx + BESIDE * nx, my + BESIDE * ny) !== classAt(mx - BESIDE * nx, my - BESIDE * ny)) {
        part = null;
        continue;
      }
      if (!part) found.push((part = [ax, ay]));
      part.push(bx, by);
    }
  }
  return found;
}

const BESIDE = 0.15; // cells beside a line at which its two sides are asked for

/** The field less the level, with a frame of values carried on to the sides of the plane. */
function addFrame(field, grid, level) {
  const side = grid + 2;
  const values = new Float64Array(side * side);
  for (let i = 0; i < grid; i++) {
    for (let j = 0; j < grid; j++) values[(i + 1) * side + j + 1] = field[i * grid + j] - level;
    carryOn(values, (i + 1) * side, 1, grid);
  }
  for (let j = 0; j < side; j++) carryOn(values, j, side, grid);
  return values;
}

/** Half a cell on from the outermost middles, along one row or column. */
function carryOn(values, start, stride, grid) {
  const at = (k) => start + k * stride;
  values[at(0)] = 1.5 * values[at(1)] - 0.5 * values[at(2)];
  values[at(grid + 1)] = 1.5 * values[at(grid)] - 0.5 * values[at(grid - 1)];
}

/** For each crossed side of a square the one or two others that the line goes on to. */
function joints(values, side) {
  const found = new Map();
  for (let i = 0; i < side - 1; i++) {
    for (let j = 0; j < side - 1; j++) {
      const corner = i * side + j;
      const edges = [2 * corner, 2 * (corner + 1) + 1, 2 * (corner + side), 2 * corner + 1];
      for (const [one, other] of linesIn(values, side, corner)) join(found, edges[one], edges[other]);
    }
  }
  return found;
}

/** Note that a line goes from one node to another. @param {Map<number, number[]>} found */
export function join(found, one, other) {
  for (const [from, to] of [[one, other], [other, one]]) {
    if (found.has(from)) found.get(from).push(to);
    else found.set(from, [to]);
  }
}

function linesIn(values, side, corner) {
  const a = values[corner], b = values[corner + 1], c = values[corner + side + 1], d = values[corner + side];
  const above = (a > 0 ? 1 : 0) + (b > 0 ? 2 : 0) + (c > 0 ? 4 : 0) + (d > 0 ? 8 : 0);
  if (above !== 5 && above !== 10) return JOINED[above];
  return SADDLES[above][a + b + c + d > 0 ? 0 : 1];
}

/** Sides in the order in which lines go through them; a closed line ends where it begins. */
export function chain(found) {
  const lines = [];
  const ends = [...found.keys()].filter((edge) => found.get(edge).length === 1);
  for (const start of [...ends, ...found.keys()]) {
    if (found.get(start).length) lines.push(walk(found, start));
  }
  return lines;
}

function walk(found, start) {
  const line = [start];
  for (let here = start; found.get(here).length; ) {
    const next = found.get(here).pop();
    const back = found.get(next);
    back.splice(back.indexOf(here), 1);
    line.push(next);
    here = next;
  }
  return line;
}

/** Where the line crosses a side, between two corners of which one is above the level. */
function crossing(values, side, edge) {
  const corner = edge >> 1;
  const other = corner + (edge & 1 ? side : 1);
  const share = values[corner] / (values[corner] - values[other]);
  const between = (from, to) => from + (Number.isFinite(share) ? share : 0.5) * (to - from);
  return [
    between(place(corner % side, side), place(other % side, side)),
    between(place(Math.floor(corner / side), side), place(Math.floor(other / side), side)),
  ];
}

const place = (index, side) => Math.min(side - 2, Math.max(0, index - 0.5));
