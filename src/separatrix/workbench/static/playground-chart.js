/**
 * A small chart of how learning went: bars for mistakes in each pass, a line for an objective.
 */
import { words } from "./controls.js";
import { fill, h, svg } from "./dom.js";

const WIDE = 600, HIGH = 80;

/** @returns {{element: HTMLElement, show: (values: number[], kind: "bars"|"line", title: string) => void, at: (index: number) => void}} */
export function chart() {
  const drawing = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", class: "chart", role: "img", "aria-label": "How learning went" });
  const title = h("figcaption", {});
  const ends = h("p", { class: "chart-ends caption" });
  let place = (index) => index;
  const marker = svg("path", { class: "chart-marker", "vector-effect": "non-scaling-stroke" });

  function show(values, kind, name) {
    title.textContent = name;
    const most = Math.max(...values), least = kind === "bars" ? 0 : Math.min(...values);
    const y = (value) => HIGH - 3 - ((value - least) / (most - least || 1)) * (HIGH - 10);
    const wide = WIDE / Math.max(values.length, 1);
    place = kind === "bars" ? (index) => (index + 0.5) * wide : (index) => (index / Math.max(1, values.length - 1)) * WIDE;
    const shape = kind === "bars"
      ? values.map((value, i) => `M${i * wide + 0.12 * wide} ${HIGH}V${value ? y(value) : HIGH}h${0.76 * wide}V${HIGH}z`).join("")
      : values.map((value, i) => `${i ? "L" : "M"}${place(i)} ${y(value)}`).join("");
    fill(drawing, svg("path", { d: shape, class: kind === "bars" ? "chart-bars" : "chart-line", "vector-effect": "non-scaling-stroke" }), marker);
    const summary = kind === "bars" ? `most ${words(most)}, in the last pass ${words(values.at(-1) ?? 0)}` : `from ${words(values[0])} to ${words(values.at(-1))}`;
    drawing.setAttribute("aria-label", `${name}: ${summary}`);
    ends.textContent = summary;
  }

  return {
    element: h("figure", { class: "chart-box" }, h("div", { class: "chart-head" }, title, ends), drawing),
    show,
    at: (index) => marker.setAttribute("d", `M${place(index)} 0V${HIGH}`),
  };
}
