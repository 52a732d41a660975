/**
 * Start an experiment that has a name.
 */
import { button, problem, toggle } from "./controls.js";
import { fill, freshId, h } from "./dom.js";
import { begin } from "./experiments-begin.js";
import { namedCode } from "./experiments-code.js";
import { setChoices, getChoices } from "./experiments-choices.js";
import { seedField } from "./experiments-seed.js";

/**
 * @param {{named: {name: string, caption: string, data: string, quick_data: string, available: boolean, hint: string}[]}} known
 * @param {{soon: () => void, onCode: (code: {python: string, command: string}) => void}} context
 */
export function namedForm(known, context) {
  const here = known.named.filter((one) => one.available);
  if (!here.some((one) => one.name === getChoices().name)) setChoices({ name: here[0]?.name ?? "" });
  const group = freshId("named");
  const trouble = h("div", { data: { test: "start-problem" } });
  const choose = (name) => { setChoices({ name }); refresh(); };
  const list = h("fieldset", { class: "named", data: { test: "named" } },
    h("legend", { class: "visually-hidden" }, "Experiment"),
    [...here, ...known.named.filter((one) => !one.available)].map((one) => option(one, group, choose)));
  const quick = toggle({ title: "Quick, in less than 30 seconds", value: getChoices().quick, onChange: (value) => { setChoices({ quick: value }); tags(); refresh(); } });
  quick.element.dataset.test = "quick";
  const seed = seedField(() => refresh());
  const start = button("Start", async () => {
    fill(trouble);
    start.disabled = true;
    const taken = await begin(request(), (error) => fill(trouble, problem(error)));
    refresh();
    if (!taken) start.focus();
  }, "primary", { "data-test": "start" });

  /** The data of the version that is chosen: a quick one may have other data. */
  function tags() {
    for (const one of known.named) {
      const tag = list.querySelector(`[data-name="${one.name}"] .experiment-data`);
      tag.textContent = getChoices().quick ? one.quick_data : one.data;
      tag.title = getChoices().quick && one.quick_data !== one.data ? `The quick version uses ${one.quick_data}, the full one ${one.data}` : "The data it needs";
    }
  }
  tags();

  const request = () => ({ kind: "named", name: getChoices().name, quick: getChoices().quick, seed: getChoices().seed });
  function refresh() {
    start.disabled = !getChoices().name || !seed.valid();
    context.onCode(namedCode(request()));
  }
  return {
    element: h("div", {}, list, h("div", { class: "start-row" }, quick.element, seed.element, start), trouble),
    refresh,
  };
}

function option(one, group, choose) {
  const id = freshId("experiment");
  const input = h("input", {
    type: "radio", name: group, id, value: one.name, disabled: !one.available, checked: one.name === getChoices().name,
    on: { change: () => choose(one.name) },
  });
  return h("label", { class: "experiment", for: id, data: { test: "experiment", name: one.name } }, input,
    h("span", { class: "experiment-name" }, one.name),
    h("span", { class: "experiment-data tag", title: "The data it needs" }, one.data),
    h("span", { class: "experiment-caption caption" }, one.caption),
    !one.available && one.hint ? h("span", { class: "experiment-hint hint" }, one.hint) : null);
}
