/**
 * The plane of two features on a canvas: tints, lines, points, axes. It draws on the next animation frame.
 */
import { classColour, plain } from "./colours.js";
import { h } from "./dom.js";
import { drawAxes } from "./playground-axes.js";
import { cross, outline, ring } from "./playground-marks.js";

const WIDE = { left: 52, right: 12, top: 12, bottom: 46 }; // room for the axes, in CSS pixels
const NARROW = { left: 42, right: 6, top: 6, bottom: 42 };
const SMALL = 450; // a canvas of a phone

export class Plane {
  constructor() {
    this.canvas = h("canvas", {
      tabindex: "0", role: "application", class: "plane", data: { test: "plane", fitted: "0", points: "0", wrong: "0", ms: "" },
      "aria-label": "Plane of points. Arrows move the cross-hair, Enter adds a point, Delete removes the nearest, 1 to 5 choose the class.",
    });
    /** @type {any} what is drawn */
    this.shown = { window: [-1, 1, -1, 1], names: ["x1", "x2"], points: [], picture: null, support: new Set(), wrong: new Set(), row: null, cross: null, hint: "" };
    this.frame = 0;
    this.answered = null;
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.canvas);
  }

  close() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
  }

  /** Draw other things from the next frame on. `answered`: called once they are on the canvas. */
  show(changes, answered = null) {
    Object.assign(this.shown, changes);
    if (answered) this.answered = answered;
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
      this.answered?.();
      this.answered = null;
    });
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    const width = Math.round(this.canvas.clientWidth * ratio), height = Math.round(this.canvas.clientHeight * ratio);
    if (width === this.canvas.width && height === this.canvas.height) return;
    [this.canvas.width, this.canvas.height] = [width, height];
    if (width && height) this.draw();
  }

  /** The part of the canvas inside the axes, in CSS pixels. */
  get box() {
    const { left, right, top, bottom } = this.canvas.clientWidth < SMALL ? NARROW : WIDE;
    return { left, top, width: Math.max(1, this.canvas.clientWidth - left - right), height: Math.max(1, this.canvas.clientHeight - top - bottom) };
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

  /** The canvas on the ground of the page, as a file. @param {(blob: Blob|null) => void} done */
  file(done) {
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [this.canvas.width, this.canvas.height];
    const context = copy.getContext("2d");
    context.fillStyle = plain().ground;
    context.fillRect(0, 0, copy.width, copy.height);
    context.drawImage(this.canvas, 0, 0);
    copy.toBlob(done);
  }

  draw() {
    const { canvas } = this;
    if (!canvas.width || !canvas.clientWidth) return;
    const context = canvas.getContext("2d");
    const ratio = canvas.width / canvas.clientWidth;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    const { left, top, width, height } = this.box;
    context.fillStyle = plain().ground;
    context.fillRect(left, top, width, height);
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    if (this.shown.picture) this.drawPicture(context, ratio);
    this.drawPoints(context);
    this.drawCross(context);
    context.restore();
    drawAxes(context, this);
    if (this.shown.hint) this.drawHint(context);
  }

  drawPicture(context, ratio) {
    const { picture } = this.shown;
    const [x0, x1, y0, y1] = picture.window;
    const [left, top] = this.pixel(x0, y1), [right, bottom] = this.pixel(x1, y0);
    context.imageSmoothingEnabled = true;
    context.drawImage(picture.tint, left, top, right - left, bottom - top);
    if (picture.hatched) this.drawHatching(context, ratio, [left, top, right - left, bottom - top]);
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
    stroke(picture.margins, plain().quiet, 1.25, [6, 4]);
    stroke(picture.lines, plain().ink, 2, []);
  }

  drawHatching(context, ratio, [left, top, width, height]) {
    const layer = document.createElement("canvas");
    [layer.width, layer.height] = [this.canvas.width, this.canvas.height];
    const on = layer.getContext("2d");
    on.setTransform(ratio, 0, 0, ratio, 0, 0);
    Object.assign(on, { strokeStyle: plain().quiet, lineWidth: 1, globalAlpha: 0.55 });
    on.beginPath();
    for (let at = left - height; at < left + width; at += 9) {
      on.moveTo(at, top + height);
      on.lineTo(at + height, top);
    }
    on.stroke();
    Object.assign(on, { globalCompositeOperation: "destination-in", globalAlpha: 1 });
    on.drawImage(this.shown.picture.hatched, left, top, width, height);
    context.drawImage(layer, 0, 0, this.canvas.clientWidth, this.canvas.clientHeight);
  }

  drawPoints(context) {
    const { points, support, wrong, row } = this.shown;
    const { ground, ink } = plain();
    const size = points.length > 600 ? 3.2 : 4.6;
    points.forEach(([x, y, c], i) => {
      const [px, py] = this.pixel(x, y);
      outline(context, c, px, py, size);
      Object.assign(context, { fillStyle: classColour(c), strokeStyle: ground, lineWidth: 1.2 });
      context.fill();
      context.stroke();
      if (support.has(i)) ring(context, px, py, size + 3.2, ink, 1.3);
      if (wrong.has(i)) cross(context, px, py, size + 2, ink);
    });
    if (row !== null && points[row]) {
      const [px, py] = this.pixel(...points[row]);
      ring(context, px, py, size + 8, ground, 5);
      ring(context, px, py, size + 8, plain().mark, 2.5);
    }
  }

  drawCross(context) {
    if (!this.shown.cross) return;
    const [px, py] = this.pixel(...this.shown.cross), { left, top, width, height } = this.box;
    context.beginPath();
    for (const [ax, ay, bx, by] of [[left, py, px - 8, py], [px + 8, py, left + width, py], [px, top, px, py - 8], [px, py + 8, px, top + height]]) {
      context.moveTo(ax, ay);
      context.lineTo(bx, by);
    }
    Object.assign(context, { strokeStyle: plain().mark, lineWidth: 1.25 });
    context.stroke();
    ring(context, px, py, 8, plain().mark, 1.5);
  }

  drawHint(context) {
    const { left, top, width, height } = this.box;
    Object.assign(context, { fillStyle: plain().quiet, textAlign: "center", textBaseline: "middle", font: `15px ${getComputedStyle(this.canvas).fontFamily}` });
    this.shown.hint.split("\n").forEach((part, i, all) => context.fillText(part, left + width / 2, top + height / 2 + 24 * (i - (all.length - 1) / 2), width - 16));
  }
}
