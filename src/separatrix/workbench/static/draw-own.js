/**
 * Classes of one's own: two to ten names, then a few drawings of each.
 */
import { button, problem } from "./controls.js";
import { fill, freshId, h } from "./dom.js";

const LEAST = 2;
const MOST = 10;
const ENOUGH = 5; // drawings of each class
const LONGEST = 30;

/** @param {(names: string[]) => Promise<void>} onNames */
export function makeOwn(onNames) {
  const rows = h("div", { class: "own-names" });
  const trouble = h("div", { data: { test: "own-problem" } });
  const next = h("p", { class: "hint", data: { test: "own-next" } });
  const add = button("Add a class", () => { put(""); rows.lastChild.querySelector("input").focus(); }, "small", { data: { test: "own-add" } });
  const use = button("Use these names", () => submit(), "primary small", { data: { test: "own-use" } });
  const element = h("section", { class: "card draw-own", "aria-label": "Your own classes", hidden: true, data: { test: "own" } },
    h("h2", {}, "Your own classes"), rows, h("div", { class: "row" }, add, use), trouble, next);
  let shown = null;

  const names = () => [...rows.querySelectorAll("input")].map((input) => input.value.trim());

  function put(value) {
    const id = freshId("class");
    const row = h("div", { class: "own-name" },
      h("label", { for: id, class: "visually-hidden" }, "Name of a class"),
      h("input", { type: "text", id, value, maxlength: LONGEST, placeholder: "name", data: { test: "own-name" }, on: { input: check, keydown: (event) => { if (event.key === "Enter") submit(); } } }),
      button("×", () => { row.remove(); check(); rows.querySelector("input")?.focus(); }, "quiet small", { "aria-label": `Remove this class` }));
    rows.append(row);
    check();
  }

  function check() {
    const found = names();
    const different = new Set(found).size === found.length;
    add.disabled = found.length >= MOST;
    use.disabled = found.length < LEAST || !different || found.includes("") || JSON.stringify(found) === shown;
    for (const one of rows.querySelectorAll("button")) one.disabled = found.length <= LEAST;
  }

  async function submit() {
    if (use.disabled) return;
    fill(trouble);
    try {
      await onNames(names());
    } catch (error) {
      fill(trouble, problem(error));
    }
  }

  return {
    element,
    /** @param {{name: string, count: number}[] | null} own null: another data set */
    show: (own) => {
      element.hidden = own === null;
      if (own === null) return;
      const now = JSON.stringify(own.map(({ name }) => name));
      if (now !== shown) {
        shown = now;
        fill(rows);
        for (const name of own.length ? own.map((one) => one.name) : ["", ""]) put(name);
      }
      next.textContent = advice(own);
      check();
    },
  };
}

function advice(own) {
  if (!own.length) return "Name two to ten classes: a cat and a dog, your letters, your friends' signatures.";
  const missing = own.filter(({ count }) => count < ENOUGH);
  if (!missing.length) return "Enough to begin with. More drawings, and drawings that differ, make better models. Any model can be saved to a file.";
  const { name, count } = missing[0];
  const left = ENOUGH - count;
  return `Draw "${name}" ${left === 1 ? "once more" : `${left} ${count ? "more " : ""}times`}, and press its name after each drawing.`;
}
