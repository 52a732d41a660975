/**
 * The plane lifted into three dimensions, on a canvas that turns: why kernels work, seen.
 *
 * "score": the height of a place is the score of the model, and the boundary is where the surface goes through the plane of
 * height 0. "squares": each point goes to (x², √2xy, y²), where a flat plane separates what a conic separates down here.
 */
import { latest } from "./api.js";
import { classColour, onScheme, plain } from "./colours.js";
import { button, problem, segments } from "./controls.js";
import { fill, h, onPixels } from "./dom.js";
import { askAbout } from "./playground-ask.js";

const MESH = 36; // lines of the surface each way
const TURN = 0.006; // radians in a frame
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * @param {import("./playground-scene.js").Scene} scene
 * @param {{found: () => import("./playground-picture.js").Regions|null, signal: AbortSignal}} options
 */
export function liftCard(scene, { found, signal }) {
  let kind = "score", open = false, turning = true, angle = 0.7, tilt = 0.5, frame = 0, lifted = null, drag = null;
  const canvas = h("canvas", { class: "lift", tabindex: "0", role: "img", data: { test: "lift" }, "aria-label": "The plane lifted into three dimensions. Arrow keys turn it." });
  const caption = h("p", { class: "caption", data: { test: "lift-caption" } });
  const trouble = h("div", {});
  const kinds = segments({
    title: "Height", value: kind, choices: [{ value: "score", title: "Score of the model" }, { value: "squares", title: "x², √2xy, y²" }],
    onChange: (value) => { kind = value; follow(); },
  });
  for (const input of kinds.element.querySelectorAll("input")) input.nextElementSibling.dataset.test = `lift-${input.value}`;
  const spin = button("Stop", () => { turning = !turning; show(); draw(); }, "small", { data: { test: "lift-spin" } });
  const toggle = button("Lift the plane", () => (open ? shut() : start()), "", { data: { test: "lift-open" } });
  const body = h("div", { class: "lift-body", hidden: true }, h("div", { class: "row" }, kinds.element, spin), canvas, caption, trouble);
  const element = h("section", { class: "card lift-card", "aria-label": "Feature view" },
    h("div", { class: "card-head" }, h("h2", {}, "Feature view"), h("p", { class: "caption" }, "The plane lifted into three dimensions, with the separating plane."), toggle), body);
  const observer = onPixels(canvas, () => draw());

  function show() {
    spin.textContent = turning ? "Stop" : "Turn";
    toggle.textContent = open ? "Close" : "Lift the plane";
    body.hidden = !open;
  }
  function start(wanted = kind) {
    open = true;
    kind = wanted;
    kinds.set(kind);
    turning = !calm.matches;
    show();
    follow();
  }
  function shut() {
    open = false;
    cancelAnimationFrame(frame);
    show();
  }

  const load = latest(async () => {
    try {
      lifted = await askAbout(scene, "lift", {}, signal);
      fill(trouble);
      draw();
    } catch (error) {
      if (error.name === "AbortError") return;
      lifted = null;
      fill(trouble, problem(error));
      draw();
    }
  });

  function follow() {
    if (!open) return;
    fill(trouble);
    if (kind === "squares") load();
    draw();
  }

  /** Three coordinates of each point, the surface or plane, all within a cube of -1 to 1. */
  function model() {
    if (kind === "squares") return lifted && fromSquares(lifted, scene);
    const regions = found();
    return regions?.fields.length === 1 && regions.labels.length === 2 ? fromScore(regions, scene) : null;
  }

  function draw() {
    cancelAnimationFrame(frame);
    if (!open || !canvas.clientWidth) return;
    const ratio = devicePixelRatio || 1, wide = canvas.clientWidth, high = canvas.clientHeight;
    if (canvas.width !== Math.round(wide * ratio)) [canvas.width, canvas.height] = [Math.round(wide * ratio), Math.round(high * ratio)];
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, wide, high);
    const scene3 = model();
    caption.textContent = scene3?.caption ?? (kind === "score" ? "Two classes are needed, and a model with one score." : "");
    if (scene3) paint(context, scene3, wide, high);
    canvas.dataset.drawn = scene3 ? kind : "";
    canvas.dataset.wrong = String(scene3?.wrong ?? "");
    if (turning && scene3) {
      frame = requestAnimationFrame(() => {
        if (!drag) angle += TURN;
        draw();
      });
    }
  }

  function paint(context, { points, quads, edges, axes }, wide, high) {
    const size = Math.min(0.34 * wide, 0.31 * high); // the cube fits however it is turned
    const [ca, sa, ct, st] = [Math.cos(angle), Math.sin(angle), Math.cos(tilt), Math.sin(tilt)];
    const project = ([x, y, z]) => {
      const across = ca * x - sa * y, away = sa * x + ca * y;
      return [wide / 2 + size * across, high / 2 - size * (ct * z + st * away), ct * away - st * z];
    };
    const parts = [];
    for (const { corners, colour, alpha } of quads) {
      const seen = corners.map(project);
      parts.push({ depth: seen.reduce((sum, [, , d]) => sum + d, 0) / seen.length, draw: () => {
        context.beginPath();
        seen.forEach(([px, py], i) => (i ? context.lineTo(px, py) : context.moveTo(px, py)));
        context.closePath();
        Object.assign(context, { fillStyle: colour, strokeStyle: colour, globalAlpha: alpha, lineWidth: 0.6 });
        context.fill();
        context.globalAlpha = Math.min(1, alpha + 0.25);
        context.stroke();
      } });
    }
    for (const { at, c } of points) {
      const [px, py, depth] = project(at);
      parts.push({ depth: depth - 0.02, draw: () => {
        context.beginPath();
        context.arc(px, py, 4.2 - 0.9 * depth, 0, 2 * Math.PI);
        Object.assign(context, { fillStyle: classColour(c), strokeStyle: plain().ground, globalAlpha: 1, lineWidth: 1 });
        context.fill();
        context.stroke();
      } });
    }
    parts.sort((a, b) => b.depth - a.depth);
    for (const part of parts) part.draw();
    context.globalAlpha = 1;
    Object.assign(context, { strokeStyle: plain().ink, lineWidth: 2.4 });
    for (const line of edges) {
      context.beginPath();
      line.map(project).forEach(([px, py], i) => (i ? context.lineTo(px, py) : context.moveTo(px, py)));
      context.stroke();
    }
    Object.assign(context, { fillStyle: plain().quiet, strokeStyle: plain().quiet, lineWidth: 1, font: `13px ${getComputedStyle(canvas).fontFamily}` });
    for (const { from, to, text } of axes) {
      const [ax, ay] = project(from), [bx, by] = project(to);
      context.beginPath();
      context.moveTo(ax, ay);
      context.lineTo(bx, by);
      context.stroke();
      context.fillText(text, bx + 4, by - 4);
    }
  }

  canvas.addEventListener("pointerdown", (event) => { drag = [event.clientX, event.clientY]; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return;
    angle += (event.clientX - drag[0]) * 0.01;
    tilt = Math.min(1.4, Math.max(0.05, tilt + (event.clientY - drag[1]) * 0.008));
    drag = [event.clientX, event.clientY];
    draw();
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { drag = null; });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.08], ArrowDown: [0, 0.08] }[event.key];
    if (!step) return;
    angle += step[0];
    tilt = Math.min(1.4, Math.max(0.05, tilt + step[1]));
    event.preventDefault();
    draw();
  });
  scene.onChange((change) => { if (open && (change === "points" || change === "model")) follow(); });
  onScheme(draw, signal);
  return { element, follow: () => { if (kind === "score") follow(); }, start, shut, close: () => { cancelAnimationFrame(frame); observer.disconnect(); open = false; } };
}

/** Heights by the score, squeezed so that far places do not flatten the middle. */
function fromScore({ fields: [field], grid, window: [x0, x1, y0, y1], labels }, scene) {
  const sorted = Float32Array.from(field, Math.abs).sort();
  const usual = sorted[Math.floor(0.8 * sorted.length)] || 1;
  const height = (score) => 0.75 * Math.tanh(score / usual);
  const at = (i, j) => {
    const row = Math.min(grid - 1, Math.round((i / MESH) * (grid - 1))), column = Math.min(grid - 1, Math.round((j / MESH) * (grid - 1)));
    return { place: [(2 * (column + 0.5)) / grid - 1, (2 * (row + 0.5)) / grid - 1, height(field[row * grid + column])], score: field[row * grid + column] };
  };
  const of = (label) => Math.max(0, scene.classes.indexOf(label));
  const quads = [];
  for (let i = 0; i < MESH; i++) {
    for (let j = 0; j < MESH; j++) {
      const four = [at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)];
      const mean = four.reduce((sum, { score }) => sum + score, 0);
      quads.push({ corners: four.map(({ place }) => place), colour: classColour(of(labels[mean > 0 ? 1 : 0])), alpha: 0.3 });
    }
  }
  quads.push(...flat(plain().quiet));
  const idle = new Set(scene.out);
  const points = scene.points.flatMap(([x, y, c], row) => {
    const [across, up] = [(x - x0) / (x1 - x0), (y - y0) / (y1 - y0)];
    if (idle.has(row) || across < 0 || across > 1 || up < 0 || up > 1) return [];
    const cell = Math.min(grid - 1, Math.floor(up * grid)) * grid + Math.min(grid - 1, Math.floor(across * grid));
    return [{ at: [2 * across - 1, 2 * up - 1, height(field[cell])], c }];
  });
  return {
    points, quads, edges: [], wrong: "",
    axes: [{ from: [-1, -1, 0], to: [1, -1, 0], text: scene.names[0] }, { from: [-1, -1, 0], to: [-1, 1, 0], text: scene.names[1] }, { from: [-1, -1, 0], to: [-1, -1, 0.85], text: "score" }],
    caption: "The height of each point is its score. The grey plane is score 0: where the surface goes through it, the boundary runs.",
  };
}

/** The plane of height 0. */
const flat = (colour) => Array.from({ length: 16 }, (_, k) => {
  const [i, j] = [k >> 2, k & 3].map((n) => n / 2 - 1);
  return { corners: [[j, i, 0], [j + 0.5, i, 0], [j + 0.5, i + 0.5, 0], [j, i + 0.5, 0]], colour, alpha: 0.18 };
});

/** Points under the quadratic map, and the part of the separating plane within the cube around them. */
function fromSquares({ points: lifted, rows, w, b, wrong }, scene) {
  const sides = [0, 1, 2].map((axis) => lifted.map((point) => point[axis]));
  const low = sides.map((values) => Math.min(...values)), high = sides.map((values) => Math.max(...values));
  const into = (point) => point.map((value, axis) => (2 * (value - low[axis])) / (high[axis] - low[axis] || 1) - 1);
  const corners = planeInBox(w, b, low, high);
  const points = lifted.flatMap((point, i) => (scene.points[rows[i]] ? [{ at: into(point), c: scene.points[rows[i]][2] }] : []));
  const start = [-1, -1, -1];
  return {
    points, wrong,
    quads: corners.length ? [{ corners: corners.map(into), colour: plain().mark, alpha: 0.28 }] : [],
    edges: corners.length ? [[...corners, corners[0]].map(into)] : [],
    axes: [{ from: start, to: [1, -1, -1], text: "x²" }, { from: start, to: [-1, 1, -1], text: "√2xy" }, { from: start, to: [-1, -1, 1], text: "y²" }],
    caption: `The points, centred and scaled, under (x, y) → (x², √2xy, y²). A flat plane up here leaves ${wrong} of ${lifted.length} on the wrong side; down on the plane it is a conic.`,
  };
}

/** The polygon in which a plane w·p + b = 0 cuts a box. */
function planeInBox(w, b, low, high) {
  const corner = (k) => [0, 1, 2].map((axis) => (k & (1 << axis) ? high[axis] : low[axis]));
  const value = (point) => w[0] * point[0] + w[1] * point[1] + w[2] * point[2] + b;
  const cut = [];
  for (let k = 0; k < 8; k++) {
    for (let axis = 0; axis < 3; axis++) {
      if (k & (1 << axis)) continue;
      const [p, q] = [corner(k), corner(k | (1 << axis))], [u, v] = [value(p), value(q)];
      if (u * v >= 0) continue;
      cut.push(p.map((one, i) => one + (u / (u - v)) * (q[i] - one)));
    }
  }
  if (cut.length < 3) return [];
  const middle = [0, 1, 2].map((axis) => cut.reduce((sum, point) => sum + point[axis], 0) / cut.length);
  const span = [0, 1, 2].map((axis) => high[axis] - low[axis] || 1);
  const scaled = (point) => point.map((value_, axis) => (value_ - middle[axis]) / span[axis]);
  const normal = w.map((value_, axis) => value_ * span[axis]);
  const one = scaled(cut[0]);
  const two = [normal[1] * one[2] - normal[2] * one[1], normal[2] * one[0] - normal[0] * one[2], normal[0] * one[1] - normal[1] * one[0]];
  const dot = (a, c) => a[0] * c[0] + a[1] * c[1] + a[2] * c[2];
  const long = Math.hypot(...two) / (Math.hypot(...one) || 1);
  return cut.map((point) => ({ point, turn: Math.atan2(dot(scaled(point), two) / (long || 1), dot(scaled(point), one)) })).sort((p, q) => p.turn - q.turn).map(({ point }) => point);
}
