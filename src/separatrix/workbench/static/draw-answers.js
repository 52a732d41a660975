/**
 * What the models answer: the majority, then a row for each model. Rows stay in place while answers change.
 */
import { fill, h } from "./dom.js";

/**
 * @typedef {Object} Answer
 * @property {string} key
 * @property {string} label
 * @property {{label: string, share: number}[]} confidence all classes, in class order
 * @property {"probability"|"votes"|"score"} kind
 * @property {number} milliseconds
 * @property {{row: number, label: string, weight: number}[] | null} terms
 * @property {string | null} evidence
 */

/** What kind of number a confidence is: "its confidence is ...". */
export const KINDS = {
  probability: "a probability, as the model estimates it",
  votes: "the share of the neighbours' votes",
  score: "a score, not a probability: decision values turned into shares that keep their order",
};

/** A share in words. @param {number} share */
export const percent = (share) => `${Math.round(100 * share)} %`;
const models = (n) => (n === 1 ? "1 model" : `${n} models`);

/** The error on held-out scans, with that from before any correction if they differ: 3.9 → 4.2 %. */
export function errorWords({ error, first_error: first }) {
  if (error === null || error === undefined) return "";
  const now = error.toFixed(1);
  const before = first === null || first === undefined ? now : first.toFixed(1);
  return `${before === now ? now : `${before} → ${now}`} % of held-out scans wrong`;
}

/** Words in their place, unless they are there: answers come many times a second. */
function put(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

/** How far a bar goes, in steps that can be seen. */
function setShare(element, share) {
  const value = (Math.round(50 * share) / 50).toString();
  if (element.dataset.share === value) return;
  element.dataset.share = value;
  element.style.setProperty("--share", value);
}

/** Labels with the models that answer them, most frequent first. @param {Answer[]} answers @returns {[string, string[]][]} */
export function votes(answers) {
  const byLabel = new Map();
  for (const { key, label } of answers) byLabel.set(label, [...(byLabel.get(label) ?? []), key]);
  return [...byLabel].sort((one, other) => other[1].length - one[1].length);
}

/** What the models say together, in words; `winner` is null without an answer, `label` is what is shown large. */
export function majority(reply) {
  const { label = "", votes: most = 0, of = 0, tied = [] } = reply?.verdict ?? {};
  if (!label) return { winner: null, label: "", message: "" };
  const all = most === 1 ? "the only model" : most === 2 ? "both models agree" : `all ${models(most)} agree`;
  const some = tied.length
    ? `${models(most)} each for ${[label, ...tied].join(" and ")}; those with fewer errors say ${label}`
    : `${most} of ${models(of)}`;
  const message = most === of ? all : some;
  if (!reply.distance?.far) return { winner: label, label, message };
  const far = `None of these: ${reply.distance.ratio.toFixed(1)} times as far from the nearest pictures as usual.`;
  return { winner: label, label: "none", message: `${far} If it must be one: ${label}, ${message}.` };
}

/**
 * @param {string} first the model to choose first
 * @param {(key: string) => void} onChoose a model was chosen, by whatever means
 * @param {() => void} onPress a model was pressed: its reasons should be in sight
 */
export function makeAnswers(first, onChoose, onPress) {
  const big = h("div", { class: "draw-big", data: { test: "majority" } });
  const message = h("p", { class: "draw-message", data: { test: "majority-message" } });
  const others = h("p", { class: "hint" });
  const list = h("div", {
    class: "draw-models", role: "listbox", "aria-label": "Models, choose one to see why", data: { test: "models" },
  });
  /** @type {Map<string, ReturnType<typeof makeRow>>} */
  let rows = new Map();
  let wanted = first; // may still be loading; until then the first stands in
  const chosen = () => (rows.has(wanted) ? wanted : (rows.keys().next().value ?? ""));
  const mark = () => { for (const [key, row] of rows) row.choose(key === chosen()); };

  function choose(key) {
    if (key === wanted) return;
    wanted = key;
    mark();
    onChoose(key);
  }

  function step(event) {
    const keys = [...rows.keys()];
    const at = keys.indexOf(chosen());
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: keys.length - 1 }[event.key];
    if (to === undefined || !keys.length) return;
    event.preventDefault();
    const next = keys[Math.min(keys.length - 1, Math.max(0, to))];
    choose(next);
    rows.get(next).element.focus();
  }
  list.addEventListener("keydown", step);

  /** Rows for the models there are; a row that stays keeps its element, and with it the focus. */
  function setModels(described) {
    rows = new Map(described.map(({ key }) => [key, rows.get(key) ?? makeRow(key, () => choose(key), onPress)]));
    for (const model of described) rows.get(model.key).describe(model);
    const elements = [...rows.values()].map((row) => row.element);
    if (elements.length !== list.children.length || elements.some((row, i) => list.children[i] !== row)) fill(list, elements);
    mark();
  }

  /** @param {any} reply null: nothing yet @param {string} [hint] shown when there are no answers */
  function show(reply, hint = "") {
    const answers = reply?.answers ?? [];
    const { winner, label, message: words } = majority(reply);
    put(big, label || "?");
    big.classList.toggle("none", !label || Boolean(reply.distance?.far));
    big.classList.toggle("long", label.length > 2);
    put(message, words || hint);
    const rest = votes(answers).filter(([one]) => winner !== null && one !== winner);
    const names = (keys) => keys.map((key) => rows.get(key)?.title() ?? key).join("; ");
    put(others, rest.map(([one, keys]) => `${one}: ${names(keys)}`).join(". "));
    const byKey = new Map(answers.map((answer) => [answer.key, answer]));
    for (const [key, row] of rows) row.show(byKey.get(key) ?? null, winner);
  }

  /** @param {(key: string) => string} words of each model */
  function showTally(words) {
    for (const [key, row] of rows) row.showTally(words(key));
  }

  return {
    verdict: h("div", { class: "draw-verdict" }, big, h("div", {}, message, others)),
    list,
    setModels,
    show,
    showTally,
    chosen,
    wanted: () => wanted,
    focus: () => rows.get(chosen())?.element.focus(),
  };
}

function makeRow(key, onChoose, onPress) {
  const label = h("span", { class: "draw-label" });
  const title = h("span", { class: "draw-title" });
  const learns = h("span", { class: "tag" }, "learns");
  const small = h("span", { class: "draw-small", data: { test: "facts" } });
  let tally = "";
  const share = h("span", { class: "draw-share number" });
  const kind = h("span", { class: "draw-kind" });
  const bar = h("span", { class: "meter" }, h("i", {}));
  const strip = h("span", { class: "draw-strip", "aria-hidden": "true" });
  const element = h("div", {
    class: "draw-model", role: "option", tabindex: "-1", data: { test: "model", key },
    on: { click: () => { element.focus(); onPress(); }, focus: onChoose },
  }, label, h("span", { class: "draw-who" }, h("span", { class: "draw-name" }, title, learns), small),
  h("span", { class: "draw-sure" }, share, kind, bar), strip);
  let described = { title: key, online: false, error: null };
  let classes = "";
  let last = { answer: null, winner: null };

  function describe(model) {
    described = model;
    title.textContent = model.title;
    title.title = model.caption ?? "";
    learns.hidden = !model.online;
    show(last.answer, last.winner);
  }

  function setClasses(confidence) {
    const names = confidence.map((one) => one.label).join("\n");
    if (names === classes) return;
    classes = names;
    strip.classList.toggle("many", confidence.length > 12);
    const short = (label) => [...label].slice(0, 2).join("");
    fill(strip, confidence.map((one) => h("span", { title: one.label }, h("i", {}), h("b", {}, short(one.label)))));
  }

  /** @param {Answer|null} answer @param {string|null} winner */
  function show(answer, winner) {
    last = { answer, winner };
    const differs = answer !== null && winner !== null && answer.label !== winner;
    element.dataset.label = answer?.label ?? "";
    element.classList.toggle("differs", differs);
    element.classList.toggle("silent", answer === null);
    put(label, answer?.label ?? "–");
    label.classList.toggle("long", (answer?.label.length ?? 0) > 2);
    const time = answer ? `${answer.milliseconds.toFixed(1)} ms` : null;
    put(small, [errorWords(described), tally, time].filter(Boolean).join(" · "));
    const top = answer?.confidence.find((one) => one.label === answer.label)?.share ?? 0;
    put(share, answer ? percent(top) : "");
    put(kind, answer?.kind ?? "");
    kind.title = KINDS[answer?.kind] ?? "";
    setShare(bar, top);
    if (answer) setClasses(answer.confidence);
    [...strip.children].forEach((one, i) => {
      setShare(one.firstChild, answer?.confidence[i]?.share ?? 0);
      one.classList.toggle("most", answer !== null && answer.confidence[i]?.label === answer.label);
    });
    const more = `${differs ? ", differs from the majority" : ""}${described.online ? ", learns" : ""}`;
    const sentence = answer ? `${answer.label}, ${answer.kind} ${percent(top)}${more}` : "no answer yet";
    element.setAttribute("aria-label", `${described.title}: ${sentence}`);
  }

  return {
    element,
    describe,
    show,
    showTally: (words) => { tally = words; show(last.answer, last.winner); },
    title: () => described.title,
    choose: (yes) => { element.setAttribute("aria-selected", String(yes)); element.tabIndex = yes ? 0 : -1; },
  };
}
