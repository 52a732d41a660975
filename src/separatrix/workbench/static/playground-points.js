/**
 * The points of the plane: a mark for each, rings around support vectors, crosses over errors.
 *
 * All marks are on a layer that is drawn again only when the points or the view change: while a slider is dragged, only
 * the rings and crosses are new, and a path for each of 2,000 points takes longer than a frame.
 */
import { plain, scheme } from "./colours.js";
import { crosses, ring, rings, stampOf } from "./playground-marks.js";

const CROWDED = 600; // points among which rings would hide each other
const FADED = 0.32; // of the others, where support vectors are shown without rings

export class PointLayer {
  constructor() {
    this.layer = document.createElement("canvas");
    this.of = []; // what is on the layer
    this.stamps = { of: "", made: new Map() }; // marks by class and kind
  }

  /** @param {CanvasRenderingContext2D} context @param {import("./plane.js").Plane} plane @param {number} ratio */
  draw(context, plane, ratio) {
    const { points, support, wrong, out } = plane.shown;
    const { ink } = plain();
    const crowded = points.length > CROWDED, fade = crowded && support.size > 0;
    const size = (crowded ? 3.2 : 4.6) * (plane.large ? 1.2 : 1) * (plane.width < 330 ? 0.75 : 1);
    const put = this.stamper(plane, size, ratio);
    this.renew(plane, size, ratio, put);
    context.globalAlpha = fade ? FADED : 1;
    if (points.length) context.drawImage(this.layer, 0, 0, plane.width, plane.height);
    context.globalAlpha = 1;
    const rows = (some) => [...some].filter((i) => points[i] && !out.has(i));
    const places = (some) => rows(some).map((i) => plane.pixel(...points[i]));
    if (fade) for (const i of rows(support)) put(context, i, ink); // over those that are faded; a ring of its own for each takes longer than a frame
    else rings(context, places(support), size + 3.2, ink, 1.3); // over all points: none hides them
    crosses(context, places(wrong), crowded ? 0.65 * size : size + 2, ink, crowded ? 1 : 1.6);
    this.drawSteps(context, plane, size);
  }

  /** The marks of all points, where they are not on the layer already. */
  renew({ shown: { points, test, out, window }, box, width, height }, size, ratio, put) {
    const of = [points, test, out, String(window), String([box.left, box.top, width, height, size, ratio]), plain()];
    if (of.every((part, i) => part === this.of[i])) return;
    this.of = of;
    [this.layer.width, this.layer.height] = [Math.round(width * ratio), Math.round(height * ratio)]; // this clears it, too
    const context = this.layer.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    points.forEach((_, i) => {
      context.globalAlpha = out.has(i) ? 0.25 : 1;
      put(context, i);
    });
  }

  /** Rings around the rows that a step of learning is about. */
  drawSteps(context, plane, size) {
    const { points, row, other } = plane.shown;
    for (const i of [row, other]) {
      if (i === null || i === undefined || !points[i]) continue;
      const [px, py] = plane.pixel(...points[i]);
      ring(context, px, py, size + 8, plain().ground, 5);
      ring(context, px, py, size + 8, plain().mark, 2.5);
    }
  }

  /** Puts the mark of a point on a canvas, on whole pixels; each mark is painted once. */
  stamper(plane, size, ratio) {
    const { points, test } = plane.shown, { ground } = plain();
    const of = `${scheme()} ${size} ${ratio}`;
    if (this.stamps.of !== of) this.stamps = { of, made: new Map() };
    const { made } = this.stamps;
    const onPixel = (at, stamp) => Math.round((at - stamp.half) * ratio) / ratio;
    return (context, row, ringed = null) => {
      const [x, y, c] = points[row], hollow = test.has(row), key = 4 * c + 2 * hollow + Boolean(ringed);
      if (!made.has(key)) made.set(key, stampOf(c, size, ratio, ground, { hollow, ringed }));
      const [px, py] = plane.pixel(x, y), stamp = made.get(key);
      context.drawImage(stamp.picture, onPixel(px, stamp), onPixel(py, stamp), 2 * stamp.half, 2 * stamp.half);
    };
  }
}
