/**
 * What lies over the plane for a moment: the old line, the update of the weights, links to neighbours, bubbles of
 * kernel terms, the circle of the k nearest, the numbers of rows.
 */
import { plain } from "./colours.js";

/**
 * @typedef {Object} Overlay
 * @property {{lines: number[][], grid: number, window: number[]}} [ghost] the boundary before this step
 * @property {{before: number[], after: number[]}} [weights] w before and after this step
 * @property {{row: number, text: string}[]} [names] words beside points
 * @property {{x: number, y: number, rows: number[], radius: number, grown: number}} [neighbours]
 * @property {{row: number, share: number, positive: boolean}[]} [bubbles]
 */

/** @param {CanvasRenderingContext2D} context @param {import("./plane.js").Plane} plane @param {Overlay} overlay */
export function drawOverlay(context, plane, overlay) {
  if (overlay.ghost) drawGhost(context, plane, overlay.ghost);
  if (overlay.bubbles) drawBubbles(context, plane, overlay.bubbles);
  if (overlay.neighbours) drawNeighbours(context, plane, overlay.neighbours);
  if (overlay.names) for (const { row, text } of overlay.names) drawName(context, plane, row, text);
  if (overlay.weights) drawWeights(context, plane, overlay.weights);
}

function drawGhost(context, plane, { lines, grid, window: [x0, x1, y0, y1] }) {
  context.save();
  context.beginPath();
  for (const line of lines) {
    for (let i = 0; i < line.length; i += 2) {
      const [px, py] = plane.pixel(x0 + (line[i] / grid) * (x1 - x0), y0 + (line[i + 1] / grid) * (y1 - y0));
      if (i) context.lineTo(px, py);
      else context.moveTo(px, py);
    }
  }
  context.setLineDash([2, 5]);
  Object.assign(context, { strokeStyle: plain().ink, lineWidth: 2, globalAlpha: 0.55, lineCap: "round" });
  context.stroke();
  context.restore();
}

function drawBubbles(context, plane, bubbles) {
  const largest = plane.shown.points.length > 600 ? 6 : 17; // among many points they would hide each other
  for (const { row, share, positive } of bubbles) {
    const point = plane.shown.points[row];
    if (!point) continue;
    const [px, py] = plane.pixel(point[0], point[1]);
    const size = 3 + largest * Math.sqrt(share);
    context.beginPath();
    context.arc(px, py, size, 0, 2 * Math.PI);
    context.save();
    Object.assign(context, { fillStyle: plain().mark, strokeStyle: plain().mark, globalAlpha: positive ? 0.3 : 1, lineWidth: 1.5 });
    if (positive) context.fill();
    context.globalAlpha = 1;
    if (!positive) context.setLineDash([4, 3]);
    context.stroke();
    context.restore();
  }
}

function drawNeighbours(context, plane, { x, y, rows, radius, grown }) {
  const [px, py] = plane.pixel(x, y);
  const reach = radius * grown;
  context.save();
  Object.assign(context, { strokeStyle: plain().mark, lineWidth: 1.6 });
  context.beginPath();
  const [rx] = plane.pixel(x + reach, y), [, ry] = plane.pixel(x, y + reach);
  context.ellipse(px, py, Math.abs(rx - px), Math.abs(ry - py), 0, 0, 2 * Math.PI);
  context.setLineDash([5, 4]);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  for (const row of rows) {
    const point = plane.shown.points[row];
    if (!point || Math.hypot(point[0] - x, point[1] - y) > reach * 1.000001) continue;
    context.moveTo(px, py);
    context.lineTo(...plane.pixel(point[0], point[1]));
  }
  context.stroke();
  context.restore();
}

function drawName(context, plane, row, text) {
  const point = plane.shown.points[row];
  if (!point) return;
  const [px, py] = plane.pixel(point[0], point[1]);
  const { left, width } = plane.box;
  context.save();
  Object.assign(context, { font: `600 13px ${plane.font}`, textBaseline: "middle", textAlign: "left" });
  const wide = context.measureText(text).width + 10;
  const from = px + 16 + wide > left + width ? px - 16 - wide : px + 16;
  Object.assign(context, { fillStyle: plain().ground, strokeStyle: plain().mark, lineWidth: 1.2 });
  context.beginPath();
  context.roundRect(from, py - 22, wide, 20, 4);
  context.fill();
  context.stroke();
  context.fillStyle = plain().ink;
  context.fillText(text, from + 5, py - 12);
  context.restore();
}

/** The weights as arrows in a corner: before, the update, after. */
function drawWeights(context, plane, { before, after }) {
  const { left, top, width } = plane.box;
  const side = plane.width < 450 ? 84 : 116;
  const corner = left + width - side - 8, middle = [corner + side / 2, top + 8 + side / 2];
  const longest = Math.max(Math.hypot(...before), Math.hypot(...after), 1e-12);
  const tip = ([a, b]) => [middle[0] + (a / longest) * (side / 2 - 12), middle[1] - (b / longest) * (side / 2 - 12)];
  const { ground, line, quiet, ink, mark } = plain();
  context.save();
  Object.assign(context, { fillStyle: ground, strokeStyle: line, lineWidth: 1, globalAlpha: 0.92 });
  context.beginPath();
  context.roundRect(corner, top + 8, side, side, 6);
  context.fill();
  context.stroke();
  context.globalAlpha = 1;
  Object.assign(context, { fillStyle: quiet, font: `12px ${plane.font}`, textBaseline: "top", textAlign: "left" });
  context.fillText("w", corner + 7, top + 13);
  if (Math.hypot(...before)) arrow(context, middle, tip(before), quiet, 1.5, [3, 3]);
  if (Math.hypot(after[0] - before[0], after[1] - before[1]) > 0) arrow(context, tip(before), tip(after), mark, 2, []);
  arrow(context, middle, tip(after), ink, 2, []);
  context.restore();
}

function arrow(context, [ax, ay], [bx, by], colour, width, dash) {
  const long = Math.hypot(bx - ax, by - ay);
  if (long < 1) return;
  const [ux, uy] = [(bx - ax) / long, (by - ay) / long], head = Math.min(8, long / 2);
  Object.assign(context, { strokeStyle: colour, fillStyle: colour, lineWidth: width });
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(ax, ay);
  context.lineTo(bx - 0.7 * head * ux, by - 0.7 * head * uy);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(bx, by);
  context.lineTo(bx - head * ux - 0.5 * head * uy, by - head * uy + 0.5 * head * ux);
  context.lineTo(bx - head * ux + 0.5 * head * uy, by - head * uy - 0.5 * head * ux);
  context.fill();
}

/** One and two deviations around the mean of each class. */
export function drawEllipses(context, plane, ellipses) {
  context.save();
  for (const { colour, width, places } of ellipses.flatMap((one) => ellipseLines(plane, one))) {
    context.beginPath();
    places.forEach(([px, py], i) => (i ? context.lineTo(px, py) : context.moveTo(px, py)));
    Object.assign(context, { strokeStyle: colour, lineWidth: width });
    context.stroke();
  }
  context.restore();
}

/** The lines at one and two deviations of a class, in pixels. */
export function ellipseLines(plane, { mean, covariance: [[a, b], [, d]], colour }) {
  const middle = (a + d) / 2, apart = Math.hypot((a - d) / 2, b);
  const turn = Math.atan2(2 * b, a - d) / 2;
  const axes = [Math.sqrt(Math.max(0, middle + apart)), Math.sqrt(Math.max(0, middle - apart))];
  return [1, 2].map((deviations) => ({ colour, width: deviations === 1 ? 2.2 : 1.3, places: Array.from({ length: 73 }, (_, i) => {
    const angle = (2 * Math.PI * i) / 72;
    const [u, v] = [deviations * axes[0] * Math.cos(angle), deviations * axes[1] * Math.sin(angle)];
    return plane.pixel(mean[0] + u * Math.cos(turn) - v * Math.sin(turn), mean[1] + u * Math.sin(turn) + v * Math.cos(turn));
  }) }));
}
