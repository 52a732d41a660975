/**
 * The panel to start from: an experiment that has a name, or a file of one's own. The choices are kept
 * for the session, so that a reload or a look at a report does not lose it.
 */
import { connection, get } from "./api.js";
import { codePanel } from "./code.js";
import { problem, segments } from "./controls.js";
import { fill, h } from "./dom.js";
import { fileForm } from "./experiments-file.js";
import { namedForm } from "./experiments-named.js";
import { getChoices, setChoices } from "./experiments-choices.js";

/** What the server has, as last heard: shown at once when the page opens again. */
let known = null;

/** @param {{soon: () => void}} context */
export function startPanel(context) {
  const controller = new AbortController();
  const code = codePanel();
  const place = h("div", { class: "start-form" });
  const forms = {};
  const way = segments({
    title: "What to run",
    choices: [{ value: "named", title: "Named experiment" }, { value: "file", title: "Your own file" }],
    value: getChoices().way,
    onChange: (value) => { setChoices({ way: value }); show(); },
  });
  way.element.dataset.test = "start-way";

  function show() {
    const chosen = getChoices().way;
    if (!known) return fill(place, h("p", { class: "loading" }, "Loading"));
    const make = chosen === "file" ? fileForm : namedForm;
    forms[chosen] ??= make(known, { ...context, signal: controller.signal, onCode: (lines) => code.show(lines) });
    fill(place, forms[chosen].element);
    forms[chosen].refresh();
  }

  async function ask() {
    try {
      const answer = await get("/api/experiments", controller.signal);
      if (JSON.stringify(answer) === JSON.stringify(known)) return;
      known = answer;
      for (const name of Object.keys(forms)) delete forms[name];
      show();
    } catch (error) {
      if (controller.signal.aborted || known) return;
      const retry = h("button", { type: "button", class: "small", on: { click: () => { show(); ask(); } } }, "Try again");
      fill(place, h("div", { class: "stack" }, problem(error), h("div", {}, retry)));
    }
  }

  connection.addEventListener("change", ({ detail }) => { if (!detail.gone) ask(); }, { signal: controller.signal });
  show();
  ask();
  return {
    element: h("section", { class: "card experiments-start", "aria-label": "Start" }, h("h2", {}, "Start"), way.element, place),
    code: code.element,
    close: () => controller.abort(),
  };
}
