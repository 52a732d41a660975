/**
 * The frame of the plane: ticks at round numbers, the names of the two features.
 */
import { plain } from "./colours.js";

/** @param {CanvasRenderingContext2D} context @param {import("./plane.js").Plane} plane */
export function drawAxes(context, plane) {
  const { font, shown: { names, window: [x0, x1, y0, y1] } } = plane;
  const { left, top, width, height } = plane.box;
  const { line, quiet, ink } = plain();
  Object.assign(context, { strokeStyle: line, lineWidth: 1, fillStyle: quiet, font: `${plane.large ? 14 : 12}px ${font}` });
  context.strokeRect(Math.round(left) - 0.5, Math.round(top) - 0.5, Math.round(width) + 1, Math.round(height) + 1);
  context.beginPath();
  Object.assign(context, { textAlign: "center", textBaseline: "top", strokeStyle: quiet });
  for (const tick of ticks(x0, x1, width / 75)) {
    const [px] = plane.pixel(tick, y0);
    context.moveTo(px, top + height);
    context.lineTo(px, top + height + 4);
    context.fillText(format(tick), px, top + height + 7);
  }
  Object.assign(context, { textAlign: "right", textBaseline: "middle" });
  for (const tick of ticks(y0, y1, height / 70)) {
    const [, py] = plane.pixel(x0, tick);
    context.moveTo(left, py);
    context.lineTo(left - 4, py);
    context.fillText(format(tick), left - 7, py, left - 20);
  }
  context.stroke();
  Object.assign(context, { fillStyle: ink, font: `600 ${plane.large ? 14.5 : 12.5}px ${font}`, textAlign: "center", textBaseline: "alphabetic" });
  context.fillText(cut(context, names[0], width), left + width / 2, top + height + 36);
  context.save();
  context.translate(13, top + height / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(cut(context, names[1], height), 0, 0);
  context.restore();
}

/** Round numbers between two ends, about as many as wanted. */
export function ticks(low, high, wanted) {
  const rough = (high - low) / Math.max(2, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.max(0, Math.floor(high / step) - first + 1) }, (_, i) => Number(((first + i) * step).toPrecision(10)));
}

function format(value) {
  const size = Math.abs(value);
  const text = size !== 0 && (size >= 1e5 || size < 1e-3) ? value.toExponential().replace("e+", "e") : String(value);
  return text.replace("-", "−");
}

function cut(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const letters = [...text.slice(0, 200)];
  while (letters.length && context.measureText(`${letters.join("")}…`).width > width) letters.pop();
  return `${letters.join("")}…`;
}
