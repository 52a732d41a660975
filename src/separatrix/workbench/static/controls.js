/**
 * The controls that all pages share: sliders, choices, switches, buttons, short messages.
 */
import { freshId, h } from "./dom.js";

/**
 * @typedef {Object} Control
 * @property {HTMLElement} element
 * @property {() => any} value
 * @property {(value: any) => void} set  without calling a listener
 */

/**
 * A slider with its name and its value in words. A "log" one moves in equal factors.
 *
 * @param {{title: string, kind: "log"|"linear"|"integer", least: number, most: number, value: number, help?: string,
 *   onInput: (value: number) => void}} options
 * @returns {Control}
 */
export function slider({ title, kind, least, most, value, help = "", onInput }) {
  const id = freshId("slider");
  const steps = kind === "integer" ? most - least : 200;
  const position = (v) => (kind === "log" ? Math.log(v / least) / Math.log(most / least) : (v - least) / (most - least)) * steps;
  const at = (p) => (kind === "log" ? least * (most / least) ** (p / steps) : least + ((most - least) * p) / steps);
  const round = (v) => (kind === "integer" ? Math.round(v) : Number(v.toPrecision(3)));
  let now = value;
  const input = h("input", {
    type: "range", id, min: 0, max: steps, step: kind === "integer" ? 1 : "any", title: help || null,
    on: { input: () => { now = round(at(Number(input.value))); update(); onInput(now); } },
  });
  const shown = h("output", { for: id });
  const update = () => {
    shown.textContent = words(now);
    input.setAttribute("aria-valuetext", words(now));
    input.style.setProperty("--filled", `${(100 * Number(input.value)) / steps}%`);
  };
  const set = (v) => {
    now = v;
    input.value = String(Math.min(steps, Math.max(0, position(v))));
    update();
  };
  if (kind !== "integer") input.step = String(steps / 200);
  set(value);
  return {
    element: h("div", { class: "control" }, h("label", { for: id }, title), shown, input),
    value: () => now,
    set,
  };
}

/** A number as people write it. @param {number} value */
export function words(value) {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e5 || size < 1e-3)) return Number(value.toPrecision(2)).toExponential().replace("e+", "e");
  return String(Number(value.toPrecision(3)));
}

/**
 * A choice from a list.
 *
 * @param {{title: string, choices: {value: string, title: string}[], value: string, help?: string, onChange: (value: string) => void}} options
 * @returns {Control & {choices: (list: {value: string, title: string}[]) => void}}
 */
export function choice({ title, choices, value, help = "", onChange }) {
  const id = freshId("choice");
  const select = h("select", { id, title: help || null, on: { change: () => onChange(select.value) } });
  const put = (list) => select.replaceChildren(...list.map((one) => h("option", { value: one.value }, one.title)));
  put(choices);
  select.value = value;
  return {
    element: h("div", { class: "control" }, h("label", { for: id }, title), select),
    value: () => select.value,
    set: (v) => { select.value = v; },
    choices: put,
  };
}

/**
 * A few choices side by side.
 *
 * @param {{title: string, choices: {value: string, title: string}[], value: string, onChange: (value: string) => void}} options
 * @returns {Control}
 */
export function segments({ title, choices, value, onChange }) {
  const name = freshId("segments");
  const inputs = choices.map((one) => h("input", {
    type: "radio", name, value: one.value, id: `${name}-${one.value}`, checked: one.value === value,
    on: { change: () => onChange(one.value) },
  }));
  return {
    element: h("fieldset", { class: "control segments" }, h("legend", {}, title),
      h("div", {}, choices.map((one, i) => [inputs[i], h("label", { for: inputs[i].id }, one.title)]))),
    value: () => inputs.find((input) => input.checked)?.value,
    set: (v) => { for (const input of inputs) input.checked = input.value === v; },
  };
}

/**
 * Yes or no.
 *
 * @param {{title: string, value: boolean, help?: string, onChange: (value: boolean) => void}} options
 * @returns {Control}
 */
export function toggle({ title, value, help = "", onChange }) {
  const id = freshId("toggle");
  const input = h("input", {
    type: "checkbox", role: "switch", id, checked: value, title: help || null, on: { change: () => onChange(input.checked) },
  });
  return {
    element: h("div", { class: "control toggle" }, input, h("label", { for: id }, title)),
    value: () => input.checked,
    set: (v) => { input.checked = v; },
  };
}

/** @param {string} title @param {() => void} onClick @param {string} [kind] "primary", "quiet", "danger", "small" */
export const button = (title, onClick, kind = "", attributes = {}) =>
  h("button", { type: "button", class: kind, ...attributes, on: { click: onClick } }, title);

/** What went wrong and what to do. @param {{message: string, hint?: string}} error */
export const problem = (error) =>
  h("div", { class: "problem", role: "alert" }, h("p", {}, error.message), error.hint ? h("p", { class: "hint" }, error.hint) : null);

/** The same in one line. @param {{message: string, hint?: string}} error */
export const inOneLine = ({ message, hint }) => (hint ? `${message}${/[.?!]$/.test(message) ? "" : ":"} ${hint}` : message);

/** An empty area, and what would fill it. */
export const empty = (title, ...rest) => h("div", { class: "empty" }, h("p", {}, h("strong", {}, title)), ...rest);

/** A short message at the edge of the page. @param {string} message @param {string} [kind] "bad" */
export function toast(message, kind = "") {
  const note = h("div", { class: `toast ${kind}` }, message);
  document.getElementById("toasts")?.append(note);
  setTimeout(() => note.remove(), kind === "bad" ? 8000 : 3000);
}

/** A share in per cent with one decimal, halves up, as the server writes it. @param {[number, number]} pair how many of how many */
export const percent = ([part, of]) => `${(Math.floor((2000 * part + of) / (2 * of)) / 10).toFixed(1)} %`;
