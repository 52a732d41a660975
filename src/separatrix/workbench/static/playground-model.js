/**
 * The model, its parameters, how its answers are put together; the facts of its fit.
 */
import { button, choice, slider, toggle } from "./controls.js";
import { fill, h, setText } from "./dom.js";
import { counts } from "./playground-scene.js";

/** Rules in words that fit a narrow list. */
const SHORT = { predict: "The model's own rule", rest: "Each but the last against rest", each: "Each against the rest", pairs: "Majority of all pairs" };

/** @param {import("./playground-scene.js").Scene} scene */
export function modelCard(scene) {
  const { models, rules } = scene.schema;
  const caption = h("p", { class: "caption model-caption" });
  const parameters = h("div", { class: "parameters" });
  let shown = [];
  const model = choice({
    title: "Method", choices: models.map(({ key, title }) => ({ value: key, title })), value: scene.model,
    onChange: (value) => { scene.set({ model: value }); build(); },
  });
  const rule = choice({
    title: "Several classes by", choices: rules.map(({ value, title }) => ({ value, title: SHORT[value] ?? capital(title) })), value: scene.rule,
    help: "How answers about two classes are put together; all but the first can leave places without a class.",
    onChange: (value) => scene.set({ rule: value }),
  });
  const standardise = toggle({
    title: "Standardise first", value: scene.standardise, help: "Mean 0 and deviation 1 for both features, before the model sees them.",
    onChange: (value) => scene.set({ standardise: value }),
  });
  model.element.querySelector("select").dataset.test = "model";
  rule.element.querySelector("select").dataset.test = "rule";
  standardise.element.querySelector("input").dataset.test = "standardise";

  function build() {
    model.set(scene.model);
    caption.textContent = scene.kind.caption;
    const values = scene.values[scene.model];
    shown = scene.kind.parameters.map((parameter) => ({ parameter, control: controlOf(parameter, values[parameter.name], (value) => {
      scene.setValue(parameter.name, value);
      hide();
    }) }));
    fill(parameters, shown.map(({ control }) => control.element));
    hide();
  }
  function hide() {
    for (const { parameter, control } of shown) control.element.hidden = !counts(parameter, scene.values[scene.model]);
  }
  function follow() {
    build();
    rule.set(scene.rule);
    standardise.set(scene.standardise);
  }
  build();
  scene.onChange((change) => { if (change === "restore") follow(); });
  return {
    element: h("section", { class: "card model-card", "aria-label": "Model" }, h("h2", {}, "Model"),
      model.element, caption, parameters, h("hr", {}), rule.element, standardise.element),
    /** Set the controls to the values of the scene. */
    follow,
  };
}

function controlOf(parameter, value, onChange) {
  const { name, kind, help } = parameter;
  const title = capital(parameter.title);
  const choices = parameter.choices?.map((one) => ({ value: one.value, title: capital(one.title) }));
  const control = kind === "choice" ? choice({ title, choices, value, help, onChange: onChange })
    : kind === "switch" ? toggle({ title, value, help, onChange: onChange })
      : slider({ title, kind, least: parameter.least, most: parameter.most, value, help, onInput: onChange });
  control.element.querySelector("input, select").dataset.test = `parameter-${name}`;
  return control;
}

/** Single letters such as k, C are names, and stay as they are. */
const capital = (text) => (/^[a-z][a-z]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text);

/** What the fit found, and what it warned of. `onMore`: a person lets a fit go on that the limit on its passes ended. */
export function factsCard(onMore) {
  let offered = null;
  const more = button("Go on", () => onMore(offered), "small", { hidden: true, data: { test: "more-passes" } });
  const facts = h("dl", { class: "facts", data: { test: "facts" } });
  const notes = h("div", { class: "fact-notes", "aria-live": "polite", data: { test: "warnings" } });
  let shownNotes = "";
  /** The same words are not put twice: they would be read aloud at every move of a slider. */
  function note(kind, sentences) {
    const now = JSON.stringify([kind, sentences]);
    if (now !== shownNotes) fill(notes, sentences.map((sentence) => h("p", { class: kind }, sentence)));
    shownNotes = now;
  }
  function list(found) {
    if (facts.children.length !== found.length) fill(facts, found.map(() => h("div", {}, h("dt", {}), h("dd", {}))));
    found.forEach(({ title, value }, i) => {
      const [term, words] = facts.children[i].children;
      setText(term, capital(title));
      setText(words, value);
    });
  }
  return {
    element: h("section", { class: "card facts-card", "aria-label": "What the fit found" }, h("h2", {}, "What the fit found"), facts, notes, more),
    show: (answer) => {
      offered = answer.more ?? null;
      more.hidden = !offered;
      if (offered) more.textContent = `Go on to ${offered.words}`;
      list(answer.facts);
      note("note", answer.warnings);
    },
    /** Nothing to say, and why. */
    empty: (sentence) => {
      fill(facts);
      more.hidden = true;
      note("caption", [sentence]);
    },
  };
}
