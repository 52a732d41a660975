/**
 * The marks of points: a colour and a shape for each class, rings for support vectors, crosses for errors.
 */
import { classColour } from "./colours.js";
import { svg } from "./dom.js";

const ROUND = 0;
const turn = (corners, quarter) => corners.map(([x, y]) => [x * Math.cos(quarter) - y * Math.sin(quarter), x * Math.sin(quarter) + y * Math.cos(quarter)]);
const regular = (corners, size, quarter = 0) => turn(Array.from({ length: corners }, (_, i) => {
  const angle = (2 * Math.PI * i) / corners - Math.PI / 2;
  return [size * Math.cos(angle), size * Math.sin(angle)];
}), quarter);
const star = Array.from({ length: 8 }, (_, i) => {
  const angle = (Math.PI * i) / 4, size = i % 2 ? 0.55 : 1.4;
  return [size * Math.cos(angle), size * Math.sin(angle)];
});
/** Corners of a mark by class; ROUND is a circle. */
const SHAPES = [ROUND, regular(4, 1.28, Math.PI / 4), regular(3, 1.4), regular(4, 1.4), regular(3, 1.4, Math.PI), star, regular(5, 1.25), regular(6, 1.2)];

/** The mark of a class for a list or a button. @param {number} index */
export function mark(index, size = 14) {
  const shape = SHAPES[index % SHAPES.length];
  const part = shape === ROUND
    ? svg("circle", { r: 1 })
    : svg("polygon", { points: shape.map((corner) => corner.map((v) => v.toFixed(3)).join(",")).join(" ") });
  part.style.setProperty("fill", classColour(index));
  return svg("svg", { viewBox: "-1.5 -1.5 3 3", width: size, height: size, "aria-hidden": "true", class: "mark" }, part);
}

/** A class's mark, to be put on a canvas many times: a picture and half of its side, in CSS pixels; hollow for a test point. */
export function stampOf(index, size, ratio, edge, { hollow = false, ringed = null } = {}) {
  const half = Math.ceil((1.45 * size + 1) * ratio) / ratio;
  const side = Math.round(2 * half * ratio), canvas = new OffscreenCanvas(side, side);
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  outline(context, index, half, half, hollow ? 0.85 * size : size);
  Object.assign(context, { fillStyle: hollow ? edge : classColour(index), strokeStyle: hollow ? classColour(index) : edge, lineWidth: hollow ? 2 : 1.2 });
  context.fill();
  context.stroke();
  if (ringed) ring(context, half, half, size + 0.4, ringed, 0.8);
  return { picture: canvas.transferToImageBitmap(), half }; // a canvas would be copied each time that it is put
}

/** The corners of a class's mark around a place; none: a circle. */
export const cornersOf = (index) => SHAPES[index % SHAPES.length] || null;

/** The outline of a class's mark. */
function outline(context, index, px, py, size) {
  const shape = SHAPES[index % SHAPES.length];
  context.beginPath();
  if (shape === ROUND) context.arc(px, py, size, 0, 2 * Math.PI);
  else {
    shape.forEach(([x, y], i) => (i ? context.lineTo(px + size * x, py + size * y) : context.moveTo(px + size * x, py + size * y)));
    context.closePath();
  }
}

/** A circle around a point. */
export const ring = (context, px, py, size, colour, width) => rings(context, [[px, py]], size, colour, width);

/** Circles around points, in one stroke: a stroke for each of 700 takes longer than a frame. */
export function rings(context, places, size, colour, width) {
  context.beginPath();
  for (const [px, py] of places) {
    context.moveTo(px + size, py);
    context.arc(px, py, size, 0, 2 * Math.PI);
  }
  Object.assign(context, { strokeStyle: colour, lineWidth: width });
  context.stroke();
}

/** Crosses over points, in one stroke. */
export function crosses(context, places, size, colour, width) {
  context.beginPath();
  for (const [px, py] of places) {
    for (const side of [-1, 1]) {
      context.moveTo(px - size, py - side * size);
      context.lineTo(px + size, py + side * size);
    }
  }
  Object.assign(context, { strokeStyle: colour, lineWidth: width });
  context.stroke();
}
