/**
 * Two to four planes with the same points: the model of the page, and others beside it; one slider for all.
 */
import { latest } from "./api.js";
import { onScheme } from "./colours.js";
import { button, choice, percent, slider, words } from "./controls.js";
import { fill, h } from "./dom.js";
import { Plane } from "./plane.js";
import { askAbout } from "./playground-ask.js";
import { picture, regions } from "./playground-picture.js";
import { counts, sameUnits } from "./playground-scene.js";

const MOST = 3; // beside the model of the page
const GRID = 70;

/** @param {import("./playground-scene.js").Scene} scene @param {AbortSignal} signal */
export function compareCard(scene, signal) {
  let planes = []; // one for each model, the page's first
  let shared = "", closed = false;
  const add = button("Add this model", addPane, "", { data: { test: "compare-add" }, title: "Keep the present model beside the next one" });
  const row = h("div", { class: "panes", data: { test: "panes" } });
  const control = h("div", { class: "shared-slider" });
  const intro = h("p", { class: "caption" });

  const kindOf = (pane) => scene.schema.models.find(({ key }) => key === pane.model);
  const own = () => ({ model: scene.model, values: scene.values[scene.model], rule: scene.rule, standardise: scene.standardise });
  const all = () => [own(), ...scene.panes];

  function addPane() {
    scene.set({ panes: [...scene.panes, own()].slice(0, MOST) });
  }

  /** The model of a plane changes places with that of the page. */
  function swap(index) {
    const pane = scene.panes[index - 1];
    const panes = scene.panes.with(index - 1, own());
    scene.keep();
    scene.step = null;
    scene.put({ model: pane.model, values: { ...scene.values, [pane.model]: pane.values }, rule: pane.rule, standardise: pane.standardise, panes });
  }

  const remove = (index) => scene.set({ panes: scene.panes.filter((_, i) => i !== index - 1) });

  /** Parameters that count now. */
  const parametersOf = (pane) => kindOf(pane).parameters.filter((one) => counts(one, pane.values));
  const title = (pane) => kindOf(pane).title;
  /** What distinguishes a model: its numbers and its kernel, and what else is not as usual. */
  const details = (pane) => parametersOf(pane).filter(({ name, default: usual, kind }) => name === "kernel" || (kind !== "switch" && kind !== "choice" && name !== "cost" && name !== "coef0") || pane.values[name] !== usual)
    .map(({ name, title: own_, kind, choices }) => (kind === "choice" ? choices.find(({ value }) => value === pane.values[name])?.title : kind === "switch" ? own_ : `${own_} ${words(pane.values[name])}`)).join(", ");

  /** Sliders of any of the models, those of most of them first. */
  function names() {
    const found = new Map();
    for (const pane of all()) for (const one of parametersOf(pane)) if (["log", "linear", "integer"].includes(one.kind)) found.set(one.name, (found.get(one.name) ?? 0) + 1);
    return [...found].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  }

  const titleOf = (name) => all().flatMap(parametersOf).find((one) => one.name === name).title;

  function buildSlider() {
    const known = names();
    if (!known.includes(shared)) shared = known[0] ?? "";
    if (!shared || !scene.panes.length) return fill(control);
    const of = all().map((pane) => parametersOf(pane).find(({ name }) => name === shared)).find(Boolean);
    const owner = all().find((pane) => parametersOf(pane).includes(of));
    const which = choice({ title: "One slider for all", choices: known.map((name) => ({ value: name, title: titleOf(name) })), value: shared, onChange: (value) => { shared = value; buildSlider(); } });
    which.element.querySelector("select").dataset.test = "compare-parameter";
    const one = slider({ title: of.title, kind: of.kind, least: of.least, most: of.most, value: owner.values[shared], onInput: setAll });
    one.element.querySelector("input").dataset.test = "compare-slider";
    fill(control, which.element, one.element);
  }

  function setAll(value) {
    const has = (pane) => parametersOf(pane).find(({ name }) => name === shared);
    const put = (pane) => {
      const one = has(pane);
      if (!one) return pane;
      return { ...pane, values: { ...pane.values, [shared]: Math.min(one.most, Math.max(one.least, value)) } };
    };
    scene.keep("shared slider");
    const mine = put(own());
    scene.panes = scene.panes.map(put);
    scene.values = { ...scene.values, [scene.model]: mine.values };
    scene.notify("restore");
    scene.notify("model");
  }

  function build() {
    const wanted = scene.panes.length ? all() : [];
    if (planes.length !== wanted.length) {
      for (const { plane } of planes) plane.close();
      planes = wanted.map((_, index) => makePane(index));
      fill(row, planes.map(({ element }) => element));
    }
    planes.forEach((one, index) => {
      one.head.textContent = title(wanted[index]);
      one.details.textContent = details(wanted[index]);
    });
    add.disabled = scene.panes.length >= MOST;
    intro.textContent = scene.panes.length ? "The same points for all. The first plane is the model of this page." : "See two to four models side by side: add this one, then choose another.";
  }

  function makePane(index) {
    const plane = new Plane({ quiet: true });
    const head = h("h3", {}), details_ = h("p", { class: "caption pane-details" }), errors = h("p", { class: "both-errors", data: { test: `pane-errors-${index}` } });
    const acts = index ? [
      button("Swap", () => swap(index), "small", { data: { test: `swap-${index}` }, title: "Make this the model of the page" }),
      button("Remove", () => remove(index), "quiet small", { data: { test: `remove-${index}` } })] : h("span", { class: "tag" }, "on this page");
    plane.onShape = () => fitAll();
    return { plane, head, details: details_, errors, answer: null, element: h("figure", { class: "pane", data: { test: `pane-${index}` } }, h("div", { class: "pane-head" }, head, acts), details_, plane.canvas, errors) };
  }

  /** Show what is known of a plane. */
  function refresh(index) {
    const one = planes[index];
    if (!one?.answer) return;
    const { found, classes, support, wrong, errors, unfinished } = one.answer;
    one.plane.show({
      picture: picture(found, classes), support, wrong, points: scene.points, names: scene.names, window: viewOf(one.plane),
      test: new Set(scene.test), out: new Set(scene.out),
    });
    const { train, test } = errors;
    fill(one.errors, unfinished ? "Not finished" : [h("span", {}, "training ", h("b", {}, percent(train))), test ? h("span", {}, "test ", h("b", {}, percent(test))) : null]);
    one.plane.canvas.setAttribute("aria-label", `${one.head.textContent}: training error ${percent(train)}${test ? `, test error ${percent(test)}` : ""}`);
  }

  const viewOf = ({ box }) => sameUnits(scene.window, box.width > 1 ? box.width / box.height : 1);

  const fitAll = latest(async () => {
    for (let index = 0; index < planes.length; index++) {
      const pane = all()[index], one = planes[index];
      if (closed || !pane || scene.present() < 2) return;
      const { classes } = scene, window = viewOf(one.plane);
      const parameters = Object.fromEntries(parametersOf(pane).map(({ name }) => [name, pane.values[name]]));
      const asked = { model: pane.model, parameters, rule: pane.rule, standardise: pane.standardise, window, grid: GRID };
      try {
        const answer = await askAbout(scene, "fit", asked, signal);
        if (closed || planes[index] !== one) return;
        one.answer = { found: regions(answer, window), classes, support: new Set(answer.support), wrong: new Set(answer.wrong), errors: answer.errors, unfinished: answer.unfinished };
        refresh(index);
      } catch (error) {
        if (error.name === "AbortError") return;
        fill(one.errors, error.message);
      }
    }
  });

  scene.onChange((change) => {
    if (change === "class" || change === "step") return;
    build();
    if (change !== "view" && change !== "points") buildSliderIfIdle();
    if (change !== "restore") fitAll();
  });
  /** A slider that is being dragged is not replaced under the hand. */
  function buildSliderIfIdle() {
    if (!control.contains(document.activeElement) || !scene.panes.length) buildSlider();
  }
  onScheme(() => planes.forEach((_, index) => refresh(index)), signal);
  build();
  return {
    element: h("section", { class: "card compare-card", "aria-label": "Compare" }, h("div", { class: "card-head" }, h("h2", {}, "Compare"), intro, add), control, row),
    /** Let all planes share this slider, if they have it. */
    share: (name) => {
      if (!names().includes(name)) return;
      shared = name;
      buildSlider();
    },
    close: () => { closed = true; for (const { plane } of planes) plane.close(); },
  };
}

