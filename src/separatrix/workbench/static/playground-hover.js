/**
 * Why a place of the plane gets its class: told beside the mouse, with links to the points that decide.
 */
import { latest } from "./api.js";
import { words } from "./controls.js";
import { fill, h } from "./dom.js";
import { askAbout } from "./playground-ask.js";

const REST = 120; // ms without a move before the server is asked
const GROW = 350; // ms in which the circle reaches the farthest neighbour
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * @param {import("./plane.js").Plane} plane
 * @param {import("./playground-scene.js").Scene} scene
 * @param {{on: Function, signal: AbortSignal, shown: () => any}} options shown: what is on the plane, null where it is no fit
 */
export function hoverCard(plane, scene, { on, signal, shown }) {
  const element = h("div", { class: "hover-card", hidden: true, data: { test: "hover" } });
  let timer = 0, place = null, frame = 0;

  function forget() {
    clearTimeout(timer);
    cancelAnimationFrame(frame);
    if (place === null && element.hidden) return;
    place = null;
    element.hidden = true;
    plane.show({ overlay: shown()?.overlay ?? {} });
  }

  const ask = latest(async (at) => {
    if (place !== at || !shown()) return;
    try {
      const answer = await askAbout(scene, "explain", { at }, signal);
      if (place === at && shown()) tell(answer, at);
    } catch {
      forget(); // what is wrong with a fit is shown by the fit itself
    }
  });

  function tell(answer, at) {
    fill(element, lines(answer).map((line, i) => h(i ? "p" : "strong", {}, line)));
    put(at);
    element.hidden = false;
    const [x, y] = at;
    if (answer.neighbours.length) grow(answer.neighbours, x, y);
    else if (answer.terms.length) {
      const most = Math.max(...answer.terms.map(({ value }) => Math.abs(value)), 1e-300);
      plane.show({ overlay: { bubbles: answer.terms.map(({ row, value }) => ({ row, share: Math.abs(value) / most, positive: value > 0 })) } });
    }
  }

  /** The circle around a place grows until it holds the k nearest. */
  function grow(neighbours, x, y) {
    const rows = neighbours.map(({ row }) => row), begun = performance.now();
    const radius = Math.max(...rows.map((row) => Math.hypot(scene.points[row][0] - x, scene.points[row][1] - y)));
    const step = () => {
      if (place === null) return;
      const grown = calm.matches ? 1 : Math.min(1, (performance.now() - begun) / GROW);
      plane.show({ overlay: { neighbours: { x, y, rows, radius, grown } } });
      if (grown < 1) frame = requestAnimationFrame(step);
    };
    step();
  }

  function lines(answer) {
    const { labels } = shown().found, two = labels.length === 2;
    const found = [answer.undecided ? `Undecided: ${answer.undecided.replace("<=", "≤").replace("e-", "e−")}` : answer.label === null ? "No class here" : `Class ${answer.label}`];
    if (answer.undecided && answer.label !== null) found.push(`predict gives ${answer.label}`);
    if (answer.kind === "probability") found.push(answer.scores.map((value, c) => `P(${labels[c]}) = ${percent(value)}`).slice(0, 4).join(", "));
    else if (answer.kind === "score" && two) {
      const margin = scene.kind.key === "svm" || scene.kind.key === "linear-svm" ? (Math.abs(answer.scores[0]) < 1 ? ", inside the margin" : ", outside the margin") : "";
      found.push(`score ${words(answer.scores[0]).replace("-", "−")}${margin}`);
    }
    if (answer.distance !== null) found.push(`${words(Math.abs(answer.distance))} from the boundary${scene.standardise ? " (standardised)" : ""}`);
    if (answer.neighbours.length) found.push(votes(answer.neighbours));
    if (answer.terms.length) {
      const all = answer.term_count > answer.terms.length ? `${answer.terms.length} of ${answer.term_count} terms shown` : `${answer.term_count} terms`;
      found.push(`kernel terms: ${signed(answer.sums.for)} for ${labels[1]} (filled), ${signed(answer.sums.against)} for ${labels[0]} (dashed); ${all}`);
    }
    return found;
  }

  function votes(neighbours) {
    const counted = new Map();
    for (const { row } of neighbours) counted.set(scene.points[row][2], (counted.get(scene.points[row][2]) ?? 0) + 1);
    const parts = [...counted].sort((a, b) => b[1] - a[1]).map(([c, count]) => `${count} ${scene.classes[c]}`);
    return `${neighbours.length} nearest: ${parts.join(", ")}`;
  }

  /** Beside the place, on the side where there is room. */
  function put(at) {
    const [px, py] = plane.pixel(...at), right = px < plane.width / 2, low = py < plane.height / 2;
    element.style.setProperty("left", right ? `${px + 18}px` : "auto");
    element.style.setProperty("right", right ? "auto" : `${plane.width - px + 18}px`);
    element.style.setProperty("top", low ? `${py + 14}px` : "auto");
    element.style.setProperty("bottom", low ? "auto" : `${plane.height - py + 14}px`);
  }

  on(plane.canvas, "pointermove", (event) => {
    if (event.pointerType === "touch" || event.buttons || !shown()) return forget();
    const edge = plane.canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - edge.left, event.clientY - edge.top], { left, top, width, height } = plane.box;
    forget();
    if (px < left || px > left + width || py < top || py > top + height) return;
    const at = plane.place(px, py);
    place = at;
    timer = setTimeout(() => ask(at), REST);
  });
  for (const name of ["pointerdown", "pointerleave", "blur"]) on(plane.canvas, name, forget);
  return { element, forget };
}

const percent = (value) => (value === null ? "?" : `${(100 * value).toFixed(1)} %`);
const signed = (value) => `${value > 0 ? "+" : ""}${words(value)}`.replace("-", "−");
