/**
 * The models of a comparison that are finished, best first, with their intervals; and what the best one confuses.
 */
import { h } from "./dom.js";
import { duration } from "./experiments-words.js";

/** @typedef {{model: string, error: number, low: number|null, high: number|null, seconds: number}} Standing */
/** @typedef {{model: string, classes: string[], counts: number[][]}} Confusion */

const percent = (value) => `${value.toFixed(value < 10 ? 2 : 1)} %`;

/** @param {{rows: Standing[], running: boolean, study: boolean}} value study: a named experiment */
export function leaderboard({ rows, running, study }) {
  if (!rows.length) return null;
  const most = Math.max(...rows.map((row) => row.high ?? row.error), 1e-9);
  return [
    h("h2", {}, running ? "Leaderboard so far" : "Leaderboard"),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Leaderboard" },
      h("table", { class: "leaderboard", data: { test: "leaderboard" } },
        h("thead", {}, h("tr", {}, ["Model", "Error", "95 % interval", "", "Time"].map((name) =>
          (name ? h("th", { scope: "col" }, name) : h("td", {}))))),
        h("tbody", {}, rows.map((row) => h("tr", {},
          h("th", { scope: "row" }, row.model),
          h("td", { class: "number" }, percent(row.error)),
          h("td", { class: "number" }, row.low === null ? "not known" : `${percent(row.low)} to ${percent(row.high)}`),
          h("td", {}, span(row, most)),
          h("td", { class: "number" }, duration(row.seconds))))))),
    h("p", { class: "hint" }, study ? "Error: the mean share of test rows that are wrong, over the splits so far; fewer is better. Time: of the steps that tested it; a step may test several."
      : "Error: the share of test rows that the model gets wrong, over all folds; fewer is better."),
  ];
}

/** An interval as a bar, its mean as a mark. */
function span({ error, low, high }, most) {
  const style = { "--low": (low ?? error) / most, "--high": (high ?? error) / most, "--mean": error / most };
  return h("span", { class: "interval", "aria-hidden": "true", style }, h("i", {}), h("b", {}));
}

/** @param {Confusion|null} found */
export function confusionTable(found) {
  if (!found) return null;
  const most = Math.max(1, ...found.counts.flatMap((row, i) => row.filter((_, j) => j !== i)));
  const cell = (count, i, j) => h("td", {
    class: i === j ? "right" : count ? "wrong" : "", style: i === j ? {} : { "--share": count / most },
  }, count || "");
  return [
    h("h2", {}, `What ${found.model} confuses`),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Confusions" },
      h("table", { class: "confusion", data: { test: "confusion" } },
        h("thead", {}, h("tr", {}, h("td", {}, "true ↓ predicted →"), found.classes.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, found.counts.map((row, i) => h("tr", {}, h("th", { scope: "row" }, found.classes[i]), row.map((count, j) => cell(count, i, j))))))),
    h("p", { class: "hint" }, "Test rows over all splits; those on the diagonal are right."),
  ];
}
