/** A form made from the columns of a model, and the answer to it. */
import { h } from "/static/dom.js";

const view = document.getElementById("view");
const token = h("input", { type: "text", id: "token", autocomplete: "off", spellcheck: "false" });

/** Fetch JSON; an error has the sentence of the server. */
async function ask(path, options = {}) {
  const headers = { ...(options.headers ?? {}) };
  if (token.value.trim()) headers.Authorization = `Bearer ${token.value.trim()}`;
  const answer = await fetch(path, { ...options, headers });
  const found = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(found.error), { status: answer.status });
  return found;
}

async function start() {
  try {
    const models = await ask("/v2/models");
    showForm(models, models[0]);
  } catch (error) {
    const field = h("div", { class: "control" }, h("label", { for: "token" }, "Token"), token);
    const button = h("button", { class: "primary", type: "button", on: { click: start } }, "Open");
    const problem = token.value ? problemOf(error) : null;
    view.replaceChildren(h("section", { class: "card" }, h("h2", {}, "This server needs a token"), field, button, problem));
  }
}

async function showForm(models, chosen) {
  const path = `/v2/models/${encodeURIComponent(chosen.name)}/versions/${encodeURIComponent(chosen.version)}`;
  const { columns } = (await ask(path)).parameters;
  const choose = h("select", { id: "model", on: { change: () => showForm(models, models[choose.selectedIndex]) } },
    models.map((one) => h("option", { selected: one === chosen }, `${one.name}, version ${one.version}`)));
  const fields = columns.map((column, j) => [column, fieldOf(column, `column-${j}`)]);
  const answer = h("section", { class: "card", "aria-live": "polite" }, h("p", { class: "hint" }, "The answer appears here."));
  const form = h("form", { class: "card", on: { submit: (event) => { event.preventDefault(); predict(chosen, fields, answer); } } },
    h("div", { class: "control" }, h("label", { for: "model" }, "Model"), choose),
    h("div", { class: "form-fields" }, fields.map(([column, input]) =>
      h("div", { class: "control" }, h("label", { for: input.id }, column.name), h("span", { class: "hint" }, column.role), input))),
    h("button", { class: "primary" }, "Predict"));
  view.replaceChildren(h("div", { class: "intro" }, h("h1", {}, "Try a model"), h("p", {}, "One row; an empty field is a missing value.")),
    h("div", { class: "form-page" }, form, answer));
}

function isNumber(column) { // of a percent, 12 alone is refused
  return column.role === "number" && !column.format.includes("%");
}

function fieldOf(column, id) {
  if (isNumber(column)) return h("input", { type: "number", step: "any", id, value: "0" });
  const [no, yes] = column.role === "boolean" ? column.format.split("/") : [];
  if (yes) return h("select", { id }, [no, yes].map((word) => h("option", {}, word)));
  return h("input", { type: "text", id });
}

async function predict(model, fields, answer) {
  const row = {};
  for (const [column, input] of fields) {
    row[column.name] = input.value === "" ? null : isNumber(column) ? Number(input.value) : input.value;
  }
  const query = new URLSearchParams({ model: model.name, version: model.version, explain: "1" });
  const body = JSON.stringify({ rows: [row] });
  try {
    const found = await ask(`/predict?${query}`, { method: "POST", body, headers: { "Content-Type": "application/json" } });
    answer.replaceChildren(h("h2", {}, `Prediction: ${found.labels[0]}`), probabilities(found), ...explanation(found.explanations[0]),
      h("pre", { class: "code" }, `curl -X POST '${location.origin}/predict?model=${encodeURIComponent(model.name)}' -H 'Content-Type: application/json' -d '${body.replaceAll("'", "'\\''")}'`));
  } catch (error) {
    answer.replaceChildren(problemOf(error));
  }
}

function probabilities(found) {
  if (!found.probabilities) return h("p", { class: "hint" }, "This model has no probabilities.");
  const rows = found.classes.map((label, k) => h("tr", {}, h("td", {}, String(label)),
    h("td", {}, h("div", { class: "meter" }, h("i", { style: { "--share": found.probabilities[0][k] } }))),
    h("td", { class: "number" }, found.probabilities[0][k].toFixed(4))));
  return table(["class", "", "probability"], rows);
}

function explanation({ caption, rows }) {
  const names = Object.keys(rows[0] ?? {});
  const shown = (value) => (typeof value === "number" ? Number(value.toPrecision(4)) : value);
  const lines = rows.map((row) => h("tr", {}, names.map((name) => h("td", {}, String(shown(row[name]))))));
  return [h("p", { class: "caption" }, caption), table(names, lines)];
}

function table(names, rows) {
  return h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, names.map((name) => h("th", {}, name)))), h("tbody", {}, rows)));
}

function problemOf(error) {
  return h("div", { class: "problem" }, h("p", {}, error.message));
}

start();
