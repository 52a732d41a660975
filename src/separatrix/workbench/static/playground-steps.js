/**
 * Learning watched step by step: mistake by mistake, down the subgradient, or pair by pair of an SVM.
 */
import { latest } from "./api.js";
import { boundaries } from "./boundaries.js";
import { button, choice, problem, words } from "./controls.js";
import { fill, h, svg } from "./dom.js";
import { askAbout } from "./playground-ask.js";
import { chart } from "./playground-chart.js";
import { linearRegions, regions } from "./playground-picture.js";

const SPEEDS = [["1", "1 / s"], ["4", "4 / s"], ["15", "15 / s"], ["60", "60 / s"]];
const PATIENCE = 120; // ms without a change before the steps of a changed scene are requested
const ICONS = {
  first: "M5 4v16M19 4L8 12l11 8z", play: "M7 4l12 8-12 8z", pause: "M7 4h3v16H7zM14 4h3v16h-3z", last: "M19 4v16M5 4l11 8-11 8z",
  back: "M15 5l-7 7 7 7", forward: "M9 5l7 7-7 7", // open: unlike Play
};
const INTRO = {
  descent: "Watch the line go downhill, one step of the subgradient at a time.",
  mistakes: "Watch the boundary move, one mistake at a time.",
  pairs: "Watch SMO move the two points that violate the conditions most, one pair at a time.",
};
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const STOPS = { tol: "no pair violates the conditions by more than 0.001", "clean pass": "a pass without a mistake", max_iter: "as many as were allowed", eps: "hardly any change", time_limit: "time was up" };
const icon = (name) =>
  svg("svg", { viewBox: "0 0 24 24", width: 18, height: 18, "aria-hidden": "true", class: `icon icon-${name}` }, svg("path", { d: ICONS[name] }));

/**
 * @param {import("./playground-scene.js").Scene} scene
 * @param {{show: (found: import("./playground-picture.js").Regions|null, about?: object) => void, signal: AbortSignal}} options
 */
export function stepsCard(scene, { show, signal }) {
  let found = null; // the server's answer
  let timer = 0, playing = 0, arrived = false;
  let drawn = null; // the regions of a step of a kernel machine, and its number
  const intro = h("p", { class: "caption" });
  const open = button("Step through", () => { start(); play.focus(); }, "", { data: { test: "steps-open" } });
  const shut = button("Back to the fit", () => leave(), "quiet small", { data: { test: "steps-close" } });
  const control = (name, title, act) => h("button", { type: "button", class: "transport", title, "aria-label": title, data: { test: `step-${name}` }, on: { click: act } }, icon(name));
  const play = control("play", "Play", () => (playing ? pause() : begin()));
  const transport = [
    control("first", "First step", () => { pause(); go(0); }), control("back", "One step back", () => { pause(); go(scene.step - 1); }), play,
    control("forward", "One step on", () => { pause(); go(scene.step + 1); }), control("last", "Last step", () => { pause(); go(Infinity); }),
  ];
  const scrubber = h("input", { type: "range", min: 0, max: 0, step: 1, value: 0, "aria-label": "Step", data: { test: "step-scrubber" }, on: { input: () => { pause(); go(Number(scrubber.value)); } } });
  const speed = choice({ title: "Speed", help: "Steps per second", choices: SPEEDS.map(([value, title]) => ({ value, title })), value: "4", onChange: () => { if (playing) begin(); } });
  const count = h("output", { class: "step-count", data: { test: "step-count" } });
  const sentence = h("p", { class: "step-message", role: "status", "aria-live": "polite", data: { test: "step-message" } });
  const numbers = h("p", { class: "step-numbers number", data: { test: "step-numbers" } });
  const graph = chart();
  const message = h("div", {});
  const panel = h("div", { class: "steps", hidden: true },
    h("div", { class: "row transport-row", on: { keydown: keys } }, transport, count, speed.element), scrubber, sentence, numbers, graph.element);
  const element = h("section", { class: "steps-part", "aria-label": "Step by step" },
    h("div", { class: "steps-head" }, intro, open, shut), message, panel);

  const last = () => (found ? found.steps.length - 1 : 0);

  /** Ask for the steps of the scene as it is now. */
  const load = latest(async () => {
    if (scene.step === null || !scene.kind.steps || scene.present() < 2) return;
    try {
      const answer = await askAbout(scene, "steps", {}, signal);
      if (scene.step === null) return;
      found = answer;
      fill(message);
      outline();
      plot();
      panel.hidden = false;
      go(scene.step);
      if (arrived && !calm.matches) begin(); // it was opened just now
      arrived = false;
    } catch (error) {
      if (error.name === "AbortError") return;
      forget();
      fill(message, problem(error));
    }
  });

  /** The picture after a step of a kernel machine is the server's. */
  const ask = latest(async (step) => {
    try {
      const window = scene.view;
      const answer = await askAbout(scene, "step", { window, grid: 100, step }, signal);
      if (scene.step === null || !found?.steps[step]) return;
      const now = regions(answer, window);
      const before = drawn?.step === step - 1 && String(drawn.now.window) === String(window) ? drawn.now : null;
      drawn = { now, step };
      show(now, { ...rowsOf(found.steps[step]), support: answer.support, overlay: { ...namesOf(found.steps[step]), ...ghostOf(before) } });
    } catch (error) {
      if (error.name !== "AbortError") fill(message, problem(error));
    }
  });

  const notes = () => [
    found?.more ? `The first ${last().toLocaleString("en")} steps are shown; there were more.` : null,
    found?.average ? "Steps show the weights of the moment; the fitted model predicts with their average." : null,
  ].filter(Boolean).join(" ");

  /** The marks of a step: its row, or its two rows, and their numbers. */
  const rowsOf = (step) => ({ row: step.row ?? null, other: step.other ?? null });
  const namesOf = (step) => ({ names: [step.row, step.other].filter((row) => row !== null && row !== undefined).map((row) => ({ row, text: `row ${row}` })) });
  const ghostOf = (before) => (before?.fields.length ? { ghost: { lines: boundaries(before), grid: before.grid, window: before.window } } : {});
  const linear = (step) => linearRegions({ labels: found.labels, W: step.W, b: step.b, margins: scene.kind.steps !== "mistakes" && step.W.length === 1, window: scene.view });

  /** Of a linear model: the line, the line before, and the weights before and after. */
  function showLinear(step) {
    const before = scene.step > 0 ? found.steps[scene.step - 1] : null;
    const weights = before && step.W.length === 1 ? { weights: { before: before.W[0], after: step.W[0] } } : {};
    show(linear(step), { ...rowsOf(step), support: step.support ?? [], overlay: { ...namesOf(step), ...ghostOf(before && linear(before)), ...weights } });
  }

  /** The weights in numbers, and the mistakes against their bound. */
  function inNumbers(step) {
    const parts = [];
    if (step.W?.length === 1) parts.push(`w = (${words(step.W[0][0])}, ${words(step.W[0][1])}), b = ${words(step.b[0])}`);
    if (found.method === "mistakes") {
      const bound = found.bound ? `at most (R/γ)² = ${Math.floor(found.bound).toLocaleString("en")}` : "no bound: no pass was without mistakes";
      parts.push(`${scene.step} ${scene.step === 1 ? "mistake" : "mistakes"}, ${bound}`);
    }
    if (found.method === "pairs") parts.push(`violation ${words(step.violation)}, ${step.support.length} support vectors`);
    return parts.join(" · ").replaceAll("-", "−");
  }

  function plot() {
    if (found.method === "pairs") graph.show(found.steps.map((step) => step.violation), "line", "Violation before each step");
    else if (found.steps.every((step) => step.objective === null || step.objective === undefined)) graph.show(mistakes(), "bars", "Mistakes in each pass");
    else graph.show(found.steps.map((step) => step.objective), "line", "Objective after each step");
  }
  function mistakes() {
    const passes = Math.max(1, ...found.steps.map((step) => step.pass ?? 1));
    const counted = new Array(passes).fill(0);
    for (const step of found.steps.slice(1)) counted[(step.pass ?? 1) - 1] += 1;
    return found.stop === "clean pass" && !found.more ? [...counted, 0] : counted; // the pass that ended it has no step
  }

  function go(wanted) {
    if (!found || scene.step === null) return;
    scene.step = Math.max(0, Math.min(last(), wanted));
    const step = found.steps[scene.step];
    scrubber.max = String(last());
    scrubber.value = String(scene.step);
    scrubber.style.setProperty("--filled", `${(100 * scene.step) / Math.max(1, last())}%`);
    scrubber.setAttribute("aria-valuetext", `step ${scene.step} of ${last()}`);
    count.textContent = `${scene.step} of ${last()}`;
    sentence.textContent = `${capital(step.message)}.${scene.step === last() && !found.more ? ` This is the end: ${STOPS[found.stop] ?? found.stop}.` : ""}`;
    numbers.textContent = inNumbers(step);
    graph.at(step.objective === null || step.objective === undefined ? Math.max(0, (step.pass || 1) - 1) : scene.step);
    transport[0].disabled = transport[1].disabled = scene.step === 0;
    transport[3].disabled = transport[4].disabled = scene.step === last();
    if (found.kernel) ask(scene.step);
    else showLinear(step);
    scene.notify("step");
  }

  function begin() {
    clearInterval(playing);
    if (scene.step >= last()) go(0);
    playing = setInterval(() => { if (scene.step >= last()) pause(); else go(scene.step + 1); }, 1000 / Number(speed.value()));
    sentence.setAttribute("aria-live", "off"); // too quick to be read aloud
    fill(play, icon("pause"));
    play.setAttribute("aria-label", "Pause");
    play.title = "Pause";
  }
  function pause() {
    clearInterval(playing);
    playing = 0;
    sentence.setAttribute("aria-live", "polite");
    fill(play, icon("play"));
    play.setAttribute("aria-label", "Play");
    play.title = "Play";
  }

  function keys(event) {
    const act = { ArrowLeft: () => go(scene.step - 1), ArrowRight: () => go(scene.step + 1), Home: () => go(0), End: () => go(Infinity) }[event.key];
    if (!act || event.target.matches("select")) return;
    pause();
    act();
    event.preventDefault();
  }

  function start() {
    scene.step = 0;
    arrived = true;
    panel.hidden = false;
    outline();
    load();
  }
  function forget() {
    found = drawn = null;
    pause();
    panel.hidden = true;
    fill(message);
  }
  function leave() {
    scene.step = null;
    forget();
    outline();
    show(null);
    scene.notify("step");
    open.focus();
  }

  /** What can be stepped through now. */
  function outline() {
    const possible = Boolean(scene.kind.steps) && scene.present() > 1;
    element.hidden = !scene.kind.steps;
    open.hidden = scene.step !== null;
    shut.hidden = scene.step === null;
    open.disabled = !possible;
    intro.textContent = notes() || INTRO[scene.kind.steps] || "";
  }

  scene.onChange((change) => {
    if (change !== "points" && change !== "model" && change !== "view") return;
    if (scene.step !== null && !scene.kind.steps) scene.step = null;
    if (scene.step === null || scene.present() < 2) forget();
    outline();
    clearTimeout(timer);
    if (scene.step === null) return;
    if (change === "view" && found) go(scene.step);
    else timer = setTimeout(load, PATIENCE);
  });
  outline();
  return {
    element,
    /** Play from the start, where the model can be stepped through. */
    play: () => { if (scene.kind.steps && scene.present() > 1) start(); },
    found: () => found,
    close: () => { clearTimeout(timer); pause(); },
  };
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
