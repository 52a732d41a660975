/**
 * A file that was uploaded: what is in it, and what to do with it.
 */
import { button, choice, problem, slider, toggle } from "./controls.js";
import { fill, freshId, h } from "./dom.js";
import { begin } from "./experiments-begin.js";
import { column, fileCode } from "./experiments-code.js";
import { setChoices, getChoices } from "./experiments-choices.js";
import { seedField } from "./experiments-seed.js";
import { pluralise, size } from "./experiments-words.js";

const WIDEST = 30; // columns that are shown

/**
 * @param {any} upload  as the server answered it
 * @param {{key: string, title: string}[]} models
 * @param {{onCode: Function, onOther: () => void, onGone: (error: any) => void}} context
 */
export function uploadForm(upload, models, context) {
  const names = upload.columns.map((column) => column.name);
  if (!names.includes(getChoices().target)) setChoices({ target: names.includes(upload.target) ? upload.target : names.at(-1) ?? "" });
  const table = h("div", { class: "scroll preview", tabindex: "0", role: "region", "aria-label": "First rows", data: { test: "preview" } });
  const trouble = h("div", { data: { test: "start-problem" } });
  const target = choice({
    title: "Column to predict",
    choices: names.map((name, i) => ({ value: String(i), title: name || `column ${i + 1}` })),
    value: String(names.indexOf(getChoices().target)),
    onChange: (value) => { setChoices({ target: names[Number(value)] }); refresh(); },
  });
  target.element.querySelector("select").dataset.test = "target";
  const folds = slider({
    title: "Folds", kind: "integer", least: 2, most: 10, value: getChoices().folds, help: "Parts of the cross-validation",
    onInput: (value) => { setChoices({ folds: value }); refresh(); },
  });
  folds.element.dataset.test = "folds";
  const which = modelChoice(models, () => refresh());
  const seed = seedField(() => refresh());
  const start = button("Start", async () => {
    fill(trouble);
    start.disabled = true;
    const taken = await begin(request(), (error) => (error.code === "missing" ? context.onGone(error) : fill(trouble, problem(error))));
    refresh();
    if (!taken) start.focus();
  }, "primary", { "data-test": "start" });

  const request = () => ({
    kind: "file", upload: upload.id, target: getChoices().target, models: getChoices().models ?? [], folds: getChoices().folds, seed: getChoices().seed,
  });
  function refresh() {
    fill(table, preview(upload, names.indexOf(getChoices().target)));
    start.disabled = !seed.valid() || getChoices().models?.length === 0;
    context.onCode(fileCode({ ...request(), file: upload.name, target: column(getChoices().target, names) }));
  }

  const element = h("div", { class: "stack", data: { test: "upload" } },
    h("div", { class: "upload-head" },
      h("div", {},
        h("strong", { class: "cut", title: upload.name, data: { test: "upload-name" } }, upload.name),
        h("span", { class: "caption", data: { test: "upload-facts" } },
          [pluralise(upload.rows, "row"), names.length ? pluralise(names.length, "column") : null, size(upload.bytes)].filter(Boolean).join(", "))),
      button("Another file", context.onOther, "small", { "data-test": "upload-other" })),
    upload.notes?.length ? h("div", { class: "note" }, upload.notes.map((line) => h("p", {}, line))) : null,
    table,
    h("div", { class: "upload-choices" }, names.length ? target.element : null, folds.element),
    which.element,
    h("div", { class: "start-row" }, seed.element, start),
    trouble);
  return { element, refresh };
}

/** The first rows, with the column to predict markTarget. */
function preview(upload, target) {
  if (upload.columns.length === 0) return plain(upload.preview);
  const places = upload.columns.map((_, i) => i).filter((i) => i < WIDEST || i === target);
  const left = upload.columns.length - places.length;
  const markTarget = (i, more = "") => ({ class: `${i === target ? "target" : ""} ${more}`.trim() || null });
  return [
    h("table", {},
      h("thead", {}, h("tr", {}, places.map((i) => {
        const { name, kind } = upload.columns[i];
        return h("th", { scope: "col", ...markTarget(i) },
          h("span", { class: "cut", title: name }, name || `column ${i + 1}`), h("span", { class: "kind" }, i === target ? `${kind}, to predict` : kind));
      }))),
      h("tbody", {}, upload.preview.slice(0, 5).map((row) =>
        h("tr", {}, places.map((i) => h("td", markTarget(i), h("span", { class: "cut", title: row[i] ?? "" }, row[i] ?? "…"))))))),
    left > 0 ? h("p", { class: "caption" }, `and ${pluralise(left, "more column")}`) : null,
  ];
}

/** The first samples of a file that is no table: its columns have no names, its labels are known. */
const plain = (rows) =>
  h("table", {}, h("tbody", {}, rows.map((row) => h("tr", {}, row.slice(0, WIDEST).map((cell) => h("td", {}, h("span", { class: "cut", title: cell }, cell)))))));

/** All models that suit, or those that are ticked. */
function modelChoice(models, onChange) {
  const inputs = models.map((model) => h("input", {
    type: "checkbox", id: freshId("model"), value: model.key, checked: getChoices().models?.includes(model.key) ?? false, on: { change: () => update() },
  }));
  const list = h("fieldset", { class: "models", data: { test: "models" } },
    h("legend", { class: "visually-hidden" }, "Models"),
    models.map((model, i) => h("label", { for: inputs[i].id }, inputs[i], h("span", {}, model.title))));
  const hint = h("p", { class: "hint" }, "Choose at least one.");
  const all = toggle({ title: "All models that suit the data", value: getChoices().models === null, onChange: () => update() });
  all.element.dataset.test = "all-models";
  const update = () => {
    setChoices({ models: all.value() ? null : inputs.filter((input) => input.checked).map((input) => input.value) });
    show();
    onChange();
  };
  const show = () => {
    list.hidden = all.value();
    hint.hidden = all.value() || getChoices().models.length > 0;
  };
  show();
  return { element: h("div", { class: "models-choice" }, all.element, list, hint) };
}
