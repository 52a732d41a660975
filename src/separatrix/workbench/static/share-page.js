/**
 * A shared scene: the page inside a file that "Share" wrote. It has no server; all that it shows came with it.
 */
import { fill, h } from "./dom.js";
import { words } from "./controls.js";
import { onScheme } from "./colours.js";
import { Plane } from "./plane.js";
import { legend } from "./playground-legend.js";
import { mark } from "./playground-marks.js";
import { linearRegions, picture, regions, UNDECIDED, wrongRows } from "./playground-picture.js";

/** @param {HTMLElement} view @param {any} data */
export function open(view, data) {
  const plane = new Plane({ quiet: true });
  const signs = legend();
  const fitted = regions(data.answer, data.view);
  const ends = { support: new Set(data.answer.support), wrong: new Set(data.answer.wrong), row: null, other: null };
  let shown = { found: fitted, ...ends };
  const about = h("p", { class: "caption shared-place", data: { test: "shared-place" } }, "Move over the plane to read it.");
  const sentence = h("p", { class: "step-message", data: { test: "shared-step" } });
  const classes = h("ul", { class: "legend shared-classes", "aria-label": "Classes", data: { test: "shared-classes" } });
  const facts = data.answer.facts.map(({ title, value }) => h("div", {}, h("dt", {}, title), h("dd", {}, value)));

  function draw() {
    fill(classes, data.classes.map((name, c) => (data.points.some((point) => point[2] === c) ? h("li", {}, mark(c), h("span", { dir: "auto" }, name)) : null)));
    const { found, support, wrong, row, other } = shown;
    plane.show({ picture: picture(found, data.classes), points: data.points, names: data.names, window: data.view, support, wrong, row, other, test: new Set(data.test), out: new Set(data.out) });
    signs.show(plane.shown.picture, shown, { test: data.test.length, out: data.out.length, equal: data.equal });
  }

  /** A step, or the fit after the last. */
  function go(index) {
    const step = data.steps.steps[index];
    if (!step) {
      shown = { found: fitted, ...ends };
      sentence.textContent = "The fitted model.";
      return draw();
    }
    const found = step.picture ? regions(step.picture, data.view) : linearRegions({ labels: data.steps.labels, W: step.W, b: step.b, margins: data.steps.margins && step.W.length === 1, window: data.view });
    const idle = new Set([...data.test, ...data.out]);
    const wrong = found.fields.length ? wrongRows(found, data.points, data.classes).filter((row) => !idle.has(row)) : [];
    shown = { found, support: new Set(step.support), wrong: new Set(wrong), row: step.row ?? null, other: step.other ?? null };
    sentence.textContent = `Step ${step.number} of ${data.steps.last}: ${step.message}.`;
    draw();
  }

  const count = data.steps?.steps.length ?? 0;
  const slider = h("input", { type: "range", min: 0, max: count, step: 1, value: count, "aria-label": "Step", data: { test: "shared-slider" }, on: { input: () => go(Number(slider.value)) } });
  plane.canvas.dataset.test = "shared-plane";
  plane.canvas.setAttribute("aria-label", `Plane of ${data.points.length} points with the boundary of ${data.model}`);
  plane.canvas.addEventListener("pointermove", (event) => {
    const edge = plane.canvas.getBoundingClientRect();
    about.textContent = describe(shown.found, data, plane.place(event.clientX - edge.left, event.clientY - edge.top));
  });
  fill(view,
    h("h1", {}, data.title), h("p", { class: "story-text" }, data.text),
    h("div", { class: "shared-columns" },
      h("section", { class: "card plane-card" }, h("div", { class: "plane-box" }, plane.canvas), about, classes, signs.element, count ? [h("label", {}, "Steps of learning", slider), sentence] : null),
      h("section", { class: "card facts-card" }, h("h2", {}, data.model),
        h("dl", { class: "facts" }, data.parameters.map(([title, value]) => h("div", {}, h("dt", {}, title), h("dd", {}, value))), facts),
        data.warnings.map((warning) => h("p", { class: "note" }, warning)),
        h("details", {}, h("summary", {}, "The same in Python"), h("pre", { class: "code" }, data.answer.python)))),
    h("p", { class: "caption" }, "Written by the workbench of separatrix. This file asks nobody for anything."));
  onScheme(draw, new AbortController().signal);
  draw();
}

/** The class and the lead at a place, as far as the cells show it. */
function describe(found, data, [x, y]) {
  const { grid, codes, fields, labels, window: [x0, x1, y0, y1] } = found;
  const [j, i] = [Math.floor(((x - x0) / (x1 - x0)) * grid), Math.floor(((y - y0) / (y1 - y0)) * grid)];
  if (i < 0 || j < 0 || i >= grid || j >= grid) return "Move over the plane to read it.";
  const code = codes[i * grid + j];
  const score = fields.length === 1 && labels.length === 2 && !found.unfinished ? `, score ${words(fields[0][i * grid + j])}` : "";
  return `${data.names[0]} ${words(x)}, ${data.names[1]} ${words(y)}: ${code >= 0 ? `class ${labels[code]}` : code === UNDECIDED ? `undecided (${found.undecided})` : "no class"}${score}`;
}
