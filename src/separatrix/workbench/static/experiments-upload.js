/**
 * A file that was uploaded: what is in it, and what to do with it.
 */
import { button, choice, problem, slider, toggle } from "./controls.js";
import { fill, freshId, h } from "./dom.js";
import { begin } from "./experiments-begin.js";
import { column, fileCode } from "./experiments-code.js";
import { setChoices, getChoices } from "./experiments-choices.js";
import { onChange } from "./experiments-parts.js";
import { seedField } from "./experiments-seed.js";
import { pluralise, size } from "./experiments-words.js";

const WIDEST = 30; // columns that are shown
const ROLES = { number: "number", category: "category", text: "text", date: "date", drop: "left out" };

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

  /** Roles that differ from the guess; the column to predict has none. */
  const rolesNow = () => Object.fromEntries(Object.entries(getChoices().roles).filter(([name]) => name !== getChoices().target));
  const setRole = (name, role, guessed) => {
    const { [name]: _, ...others } = getChoices().roles;
    setChoices({ roles: role === guessed ? others : { ...others, [name]: role } });
    refresh();
  };
  const why = h("p", { class: "hint", data: { test: "target-guess" } });

  const request = () => ({
    kind: "file", upload: upload.id, target: getChoices().target, roles: rolesNow(), models: getChoices().models ?? [], folds: getChoices().folds, seed: getChoices().seed,
  });
  const show = onChange(() => { // a select that is in use stays
    const focused = table.contains(document.activeElement) ? document.activeElement.dataset.column : null;
    fill(table, preview(upload, names.indexOf(getChoices().target), rolesNow(), setRole));
    if (focused) [...table.querySelectorAll("select")].find((one) => one.dataset.column === focused)?.focus();
  });
  function refresh() {
    show({ target: getChoices().target, roles: rolesNow() });
    why.textContent = explain(upload, getChoices().target);
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
    h("div", { class: "upload-choices" }, names.length ? h("div", {}, target.element, why) : null, folds.element),
    table,
    upload.notes?.length ? h("div", { class: "note" }, upload.notes.map((line) => h("p", {}, line))) : null,
    which.element,
    h("div", { class: "start-row" }, seed.element, start),
    trouble);
  return { element, refresh };
}

/** Why a column is the one to predict. */
function explain(upload, target) {
  if (target !== upload.target) return "Chosen by you.";
  return upload.guess ? `A guess: ${upload.guess}.` : "";
}

/** The role of a column: a guess that can be changed; a name with a comma cannot be passed on. */
function roleChoice({ name, kind }, roles, setRole) {
  const words = name || "a column without a name";
  return h("select", {
    class: "role", "aria-label": `Role of ${words}`, disabled: !name || name.includes(","), data: { test: "role", column: name },
    on: { change: (event) => setRole(name, event.target.value, kind) },
  }, Object.entries(kind in ROLES ? ROLES : { [kind]: kind, ...ROLES }).map(([value, title]) => h("option", { value, selected: value === (roles[name] ?? kind) }, title)));
}

/** The first rows, with the column to predict markTarget. */
function preview(upload, target, roles, setRole) {
  if (upload.columns.length === 0) return plain(upload.preview);
  const places = upload.columns.map((_, i) => i).filter((i) => i < WIDEST || i === target);
  const left = upload.columns.length - places.length;
  const markTarget = (i, more = "") => ({ class: `${i === target ? "target" : ""} ${more}`.trim() || null });
  return [
    h("table", {},
      h("thead", {}, h("tr", {}, places.map((i) => {
        const { name } = upload.columns[i];
        return h("th", { scope: "col", ...markTarget(i) },
          h("span", { class: "cut", title: name }, name || `column ${i + 1}`),
          i === target ? h("span", { class: "kind" }, "to predict") : roleChoice(upload.columns[i], roles, setRole));
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
