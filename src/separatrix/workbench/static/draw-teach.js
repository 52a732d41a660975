/**
 * "Wrong? It is a ...": corrections, what they changed, and how to forget them.
 */
import { button } from "./controls.js";
import { fill, h } from "./dom.js";

const DIGITS = [..."0123456789"];

/** @typedef {import("./draw-answers.js").Answer} Answer */

/**
 * @param {{onTeach: (label: string) => void, onForget: () => void}} options
 */
export function makeTeach({ onTeach, onForget }) {
  const buttons = h("div", { class: "draw-classes", role: "group", "aria-label": "The right answer" });
  const learned = h("div", { role: "status", data: { test: "learned" } });
  const forget = button("", onForget, "quiet small", { hidden: true, data: { test: "forget" } });
  let classes = "";
  let usable = false;
  let busy = false;
  let pressed = null;

  function ready() {
    for (const one of [...buttons.children, forget]) one.disabled = busy || (!usable && one !== forget);
  }

  /** What was pressed is disabled while the server works, and loses the focus: it comes back. */
  function setBusy(yes) {
    if (yes) pressed = element.contains(document.activeElement) ? document.activeElement : null;
    busy = yes;
    ready();
    if (yes || !pressed || document.activeElement !== document.body) return;
    if (pressed.checkVisibility()) pressed.focus();
    else buttons.querySelector("button:not(:disabled)")?.focus();
  }

  function setClasses(labels) {
    if (labels.join("\n") === classes) return;
    classes = labels.join("\n");
    buttons.classList.toggle("words", labels.some((label) => label.length > 2));
    fill(buttons, labels.map((label) => button(label, () => onTeach(label), "", { data: { test: "teach", label } })));
    ready();
  }
  setClasses(DIGITS);
  const element = h("div", { class: "draw-teach" },
    h("div", { class: "draw-wrong" }, h("h3", {}, "Wrong? It is a"), forget), buttons, learned);

  return {
    element,
    setClasses,
    /** @param {boolean} yes whether there is an answer to correct */
    usable: (yes) => { usable = yes; ready(); },
    busy: setBusy,
    /** @param {number} n */
    setCorrections: (n) => {
      forget.hidden = n === 0;
      forget.textContent = `Forget corrections (${n})`;
    },
    clear: () => fill(learned),
    report: (label, reply, before, titles) => fill(learned, summarise(label, reply, before, titles)),
  };
}

/** What a correction changed. @param {Map<string, string>} titles @param {Answer[]} before */
function summarise(label, reply, before, titles) {
  const name = (key) => titles.get(key) ?? key;
  const was = new Map(before.map((answer) => [answer.key, answer.label]));
  const now = new Map(reply.answer.answers.map((answer) => [answer.key, answer.label]));
  return h("div", { class: "note draw-learned" },
    h("p", {}, reply.learned.length
      ? `${reply.learned.length === 1 ? "1 model" : `${reply.learned.length} models`} learned that this is a ${label}:`
      : "None of the models here can learn on the spot."),
    h("ul", {}, reply.learned.map((key) => h("li", {}, `${name(key)}: `,
      h("b", {}, `${was.get(key) ?? "–"} → ${now.get(key) ?? "–"}`), was.get(key) === now.get(key) ? " (as before)" : null,
      reply.times[key] > 1 ? h("span", { class: "hint" }, ` after it was shown ${reply.times[key].toLocaleString("en-GB")} times`) : null))),
    reply.unchanged.length
      ? h("p", { class: "hint" }, `As before, since they learn only from all pictures at once: ${reply.unchanged.map(name).join("; ")}.`)
      : null);
}
