/**
 * The plane of two features on a canvas: tints, lines, points, axes. It draws on the next animation frame.
 */
import { plain } from "./colours.js";
import { h, onPixels } from "./dom.js";
import { drawAxes } from "./playground-axes.js";
import { ring } from "./playground-marks.js";
import { drawEllipses, drawOverlay } from "./playground-overlay.js";
import { PointLayer } from "./playground-points.js";

const WIDE = { left: 52, right: 12, top: 12, bottom: 46 }; // space for the axes, in CSS pixels
const NARROW = { left: 42, right: 6, top: 6, bottom: 42 };
const SMALL = 450; // a canvas of a phone
const LARGE = 700; // one on a projector, looked at from afar

export class Plane {
  /** @param {{quiet?: boolean}} [options] quiet: only to be looked at */
  constructor({ quiet = false } = {}) {
    this.quiet = quiet;
    this.canvas = quiet ? h("canvas", { class: "plane", role: "img", "aria-label": "Plane of points" }) : h("canvas", {
      tabindex: "0", role: "application", class: "plane", data: { test: "plane", fitted: "0", points: "0", wrong: "0", ms: "" },
      "aria-label": "Plane of points. Arrows move the cross-hair, Enter adds a point, Delete removes the nearest, 1 to 5 choose the class.",
    });
    /** @type {any} what is drawn */
    this.shown = {
      window: [-1, 1, -1, 1], names: ["x1", "x2"], points: [], picture: null,
      support: new Set(), wrong: new Set(), test: new Set(), out: new Set(), row: null, other: null, cross: null, hint: "", overlay: {},
    };
    this.onShape = null; // called when the shape of the box has changed
    this.frame = 0;
    this.answered = null;
    this.hatching = { layer: document.createElement("canvas"), hatched: null, of: "" }; // kept while the points move
    this.points = new PointLayer();
    this.measure();
    this.observer = onPixels(this.canvas, () => this.resize());
  }

  close() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
  }

  /** Draw other things from the next frame on. `answered`: called once they are on the canvas. */
  show(changes, answered = null) {
    const all = Object.entries(changes), fresh = all.filter(([name, value]) => !same(this.shown[name], value));
    if (all.length && !fresh.length && !answered) return;
    Object.assign(this.shown, Object.fromEntries(fresh));
    if (answered) this.answered = answered;
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
      this.answered?.();
      this.answered = null;
    });
  }

  resize() {
    this.measure();
    const ratio = devicePixelRatio || 1;
    const width = Math.round(this.width * ratio), height = Math.round(this.height * ratio);
    if (width === this.canvas.width && height === this.canvas.height) return;
    [this.canvas.width, this.canvas.height] = [width, height];
    if (width && height) this.draw();
    if (width && height) this.onShape?.(this.box.width / this.box.height);
  }

  /** The canvas and the part of it inside the axes, in CSS pixels; kept, since to ask for each point costs a layout. */
  measure() {
    [this.width, this.height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    this.large = this.width > LARGE;
    this.font = getComputedStyle(this.canvas).fontFamily;
    const { left, right, top, bottom } = this.width < SMALL ? NARROW : WIDE;
    this.box = { left, top, width: Math.max(1, this.width - left - right), height: Math.max(1, this.height - top - bottom) };
  }

  /** From the plane to the canvas. */
  pixel(x, y) {
    const { left, top, width, height } = this.box, [x0, x1, y0, y1] = this.shown.window;
    return [left + ((x - x0) / (x1 - x0)) * width, top + ((y1 - y) / (y1 - y0)) * height];
  }

  /** From the canvas to the plane. */
  place(px, py) {
    const { left, top, width, height } = this.box, [x0, x1, y0, y1] = this.shown.window;
    return [x0 + ((px - left) / width) * (x1 - x0), y1 - ((py - top) / height) * (y1 - y0)];
  }

  /** The point nearest to a pixel, -1 where none is as near as `within` pixels. */
  nearest(px, py, within = Infinity) {
    let found = -1, least = within * within;
    this.shown.points.forEach(([x, y], row) => {
      const [ax, ay] = this.pixel(x, y);
      const distance = (ax - px) ** 2 + (ay - py) ** 2;
      if (distance <= least) [found, least] = [row, distance];
    });
    return found;
  }

  /** The plane on the ground of the page, as a picture with `ratio` pixels for each of CSS. @returns {HTMLCanvasElement} */
  copy(ratio = 2) {
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    const context = copy.getContext("2d");
    context.fillStyle = plain().ground;
    context.fillRect(0, 0, copy.width, copy.height);
    const { hatching, points } = this;
    Object.assign(this, { hatching: { layer: document.createElement("canvas"), hatched: null, of: "" }, points: new PointLayer() });
    this.drawOn(copy, false);
    Object.assign(this, { hatching, points });
    return copy;
  }

  draw() {
    if (this.canvas.width && this.width) this.drawOn(this.canvas, true);
  }

  drawOn(canvas, clear) {
    const context = canvas.getContext("2d");
    const ratio = canvas.width / this.width;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (clear) context.clearRect(0, 0, this.width, this.height);
    const { left, top, width, height } = this.box;
    context.fillStyle = plain().ground;
    context.fillRect(left, top, width, height);
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    if (this.shown.picture) this.drawPicture(context, ratio, canvas);
    this.points.draw(context, this, ratio);
    drawOverlay(context, this, this.shown.overlay);
    this.drawCross(context);
    context.restore();
    drawAxes(context, this);
    if (this.shown.hint) this.drawHint(context);
  }

  drawPicture(context, ratio, canvas) {
    const { picture } = this.shown;
    const [x0, x1, y0, y1] = picture.window;
    const [left, top] = this.pixel(x0, y1), [right, bottom] = this.pixel(x1, y0);
    context.imageSmoothingEnabled = true;
    context.drawImage(picture.tint, left, top, right - left, bottom - top);
    if (picture.hatched) this.drawHatching(context, ratio, canvas, [left, top, right - left, bottom - top]);
    const trace = (line) => {
      for (let i = 0; i < line.length; i += 2) {
        const px = left + (line[i] / picture.grid) * (right - left), py = bottom - (line[i + 1] / picture.grid) * (bottom - top);
        if (i) context.lineTo(px, py);
        else context.moveTo(px, py);
      }
    };
    const stroke = (lines, style, width, dash) => {
      context.beginPath();
      lines.forEach(trace);
      context.setLineDash(dash);
      Object.assign(context, { strokeStyle: style, lineWidth: width, lineJoin: "round" });
      context.stroke();
      context.setLineDash([]);
    };
    stroke(picture.idle, plain().quiet, 1, [1.5, 4]);
    stroke(picture.margins, plain().quiet, 1.25, [6, 4]);
    stroke(picture.lines, plain().ink, 2, []);
    drawEllipses(context, this, picture.ellipses);
  }

  drawHatching(context, ratio, canvas, [left, top, width, height]) {
    const { layer } = this.hatching, { hatched } = this.shown.picture;
    const of = String([canvas.width, canvas.height, left, top, width, height, plain().quiet]);
    if (this.hatching.hatched !== hatched || this.hatching.of !== of) {
      Object.assign(this.hatching, { hatched, of });
      hatch(layer, ratio, canvas, hatched, [left, top, width, height]);
    }
    context.drawImage(layer, 0, 0, this.width, this.height);
  }

  drawCross(context) {
    if (!this.shown.cross) return;
    const [px, py] = this.pixel(...this.shown.cross), { left, top, width, height } = this.box;
    context.beginPath();
    const arms = [[left, py, px - 8, py], [px + 8, py, left + width, py], [px, top, px, py - 8], [px, py + 8, px, top + height]];
    for (const [ax, ay, bx, by] of arms) {
      context.moveTo(ax, ay);
      context.lineTo(bx, by);
    }
    Object.assign(context, { strokeStyle: plain().mark, lineWidth: 1.25 });
    context.stroke();
    ring(context, px, py, 8, plain().mark, 1.5);
  }

  drawHint(context) {
    const { left, top, width, height } = this.box;
    const font = `15px ${this.font}`;
    const parts = this.shown.hint.split("\n");
    Object.assign(context, { fillStyle: plain().quiet, strokeStyle: plain().ground, lineWidth: 6, lineJoin: "round", textAlign: "center", textBaseline: "middle", font });
    parts.forEach((part, i) => {
      const at = [part, left + width / 2, top + height / 2 + 24 * (i - (parts.length - 1) / 2), width - 16];
      context.strokeText(...at); // the words stand out from points behind them
      context.fillText(...at);
    });
  }
}

/** Whether two values of what is shown are the same, or lists or sets of the same. */
function same(a, b) {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, i) => one === b[i]);
  if (a instanceof Set && b instanceof Set) return a.size === b.size && [...a].every((one) => b.has(one));
  return false;
}

/** Slanted lines where `hatched` is full, on a layer as large as the canvas. */
function hatch(layer, ratio, canvas, hatched, [left, top, width, height]) {
  [layer.width, layer.height] = [canvas.width, canvas.height]; // this clears it, too
  const context = layer.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  Object.assign(context, { strokeStyle: plain().quiet, lineWidth: 1, globalAlpha: 0.6 });
  context.beginPath();
  for (let at = left - height; at < left + width; at += 9) {
    context.moveTo(at, top + height);
    context.lineTo(at + height, top);
  }
  context.stroke();
  Object.assign(context, { globalCompositeOperation: "destination-in", globalAlpha: 1 });
  context.drawImage(hatched, left, top, width, height);
}
