/**
 * What a drawing is: right, or "It is a ...". Corrections, what they changed, and how to undo and forget them. With
 * classes of one's own the same buttons give the drawings that models learn from.
 */
import { button } from "./controls.js";
import { fill, h } from "./dom.js";
import { errorWords } from "./draw-answers.js";

const DIGITS = [..."0123456789"];

/**
 * @param {{onTeach: (label: string) => void, onRight: () => void, onUndo: () => void, onForget: () => void}} options
 */
export function makeTeach({ onTeach, onRight, onUndo, onForget }) {
  const title = h("h2", {}, "Wrong? It is a");
  const right = button("Right", onRight, "small", { data: { test: "right" }, title: "The answer is right: count it" });
  const undo = button("Undo the last", onUndo, "quiet small", { hidden: true, data: { test: "undo-correction" } });
  const forget = button("", onForget, "quiet small", { hidden: true, data: { test: "forget" } });
  const buttons = h("div", { class: "draw-classes", role: "group", "aria-label": "The right answer" });
  const learned = h("div", { role: "status", data: { test: "learned" } });
  const tally = h("p", { class: "hint draw-tally", data: { test: "tally" } });
  let classes = "";
  let own = null;
  let usable = { answer: false, winner: false, ink: false };
  let busy = false;
  let pressed = null;

  function ready() {
    right.disabled = busy || !usable.winner;
    right.hidden = own !== null;
    for (const one of [undo, forget]) one.disabled = busy;
    for (const one of buttons.children) one.disabled = busy || !(own ? usable.ink : usable.answer);
  }

  /** What was pressed is disabled while the server works, and loses the focus: it comes back. */
  function setBusy(yes) {
    if (yes) pressed = element.contains(document.activeElement) ? document.activeElement : null;
    busy = yes;
    ready();
    if (yes || !pressed || document.activeElement !== document.body) return;
    if (pressed.checkVisibility() && !pressed.disabled) pressed.focus();
    else buttons.querySelector("button:not(:disabled)")?.focus();
  }

  /** @param {string[]} labels @param {{name: string, count: number}[] | null} drawn of one's own classes */
  function setClasses(labels, drawn = null) {
    const now = JSON.stringify([labels, drawn]);
    if (now === classes) return;
    const focused = buttons.contains(document.activeElement) ? document.activeElement.dataset.label : null;
    classes = now;
    own = drawn;
    title.textContent = own ? "This drawing is a" : "Wrong? It is a";
    buttons.classList.toggle("words", labels.some((label) => label.length > 2) || own !== null);
    const counts = new Map((own ?? []).map(({ name, count }) => [name, count]));
    fill(buttons, labels.map((label) => button(label, () => onTeach(label), "", { data: { test: "teach", label } })));
    for (const one of buttons.children) {
      if (own) one.append(h("span", { class: "tag", data: { test: "count" } }, String(counts.get(one.dataset.label))));
      if (one.dataset.label === focused) one.focus();
    }
    ready();
  }
  const element = h("div", { class: "draw-teach" },
    h("div", { class: "draw-wrong" }, right, title, undo, forget), buttons, tally, learned);
  setClasses(DIGITS);

  return {
    element,
    setClasses,
    /** @param {any} reply null: no answer to judge @param {boolean} ink whether something is drawn */
    usable: (reply, ink) => {
      usable = { answer: Boolean(reply?.answers.length), winner: Boolean(reply?.verdict.label) && !reply.distance.far, ink };
      ready();
    },
    busy: setBusy,
    /** @param {number} n */
    setCorrections: (n) => {
      undo.hidden = forget.hidden = n === 0;
      forget.textContent = own ? `Forget all (${n})` : `Forget corrections (${n})`;
    },
    setTally: (words) => { tally.textContent = words; },
    clear: () => fill(learned),
    report: (label, reply, titles) => fill(learned, summarise(label, reply, titles)),
  };
}

/** What a correction changed. @param {Map<string, string>} titles */
function summarise(label, reply, titles) {
  const name = (key) => titles.get(key) ?? key;
  const { taught } = reply;
  const changed = taught.filter((one) => one.before !== one.after && one.after === label);
  const known = taught.filter((one) => one.before === label && one.after === label);
  const count = (n) => (n === 1 ? "1 model" : `${n} models`);
  const first = changed.length
    ? `${count(changed.length)} of ${taught.length} that learn changed ${changed.length === 1 ? "its" : "their"} answer to ${label}${known.length ? `; ${known.length} had it right` : ""}.`
    : known.length ? `${count(known.length)} of ${taught.length} that learn had it right; no other changed its answer.`
      : `None of the ${taught.length} models that learn changed its answer to ${label}.`;
  return h("div", { class: "note draw-learned" },
    h("p", {}, taught.length ? first : "None of the models here can learn on the spot."),
    h("ul", {}, taught.map((one) => h("li", { data: { key: one.key } }, `${name(one.key)}: `,
      h("b", {}, one.before === one.after ? `still ${one.after}` : `${one.before} → ${one.after}`),
      h("span", { class: "hint" }, details(one))))),
    reply.unchanged.length
      ? h("p", { class: "hint" }, `As before, since they learn only from all pictures at once: ${reply.unchanged.map(name).join("; ")}.`)
      : null);
}

function details({ times, errors: [first, error] }) {
  const shown = times > 1 ? `, shown ${times} times` : "";
  const held = errorWords({ error, first_error: first });
  return `${shown}${held ? `, ${held}` : ""}`;
}
