/**
 * What the signs on the plane mean: only those that are there, with how many.
 */
import { fill, h } from "./dom.js";

export function legend() {
  const element = h("ul", { class: "legend", "aria-label": "Legend", data: { test: "legend" } });
  return {
    element,
    /** @param {import("./playground-picture.js").Picture|null} picture @param {{support: Set<number>, wrong: Set<number>, row: number|null}|null} points */
    show: (picture, points) => fill(element,
      picture?.lines.length ? sign("boundary", "boundary") : null,
      picture?.margins.length ? sign("margin", "margin, ±1") : null,
      points?.support.size ? sign("support", pluralise(points.support.size, "support vector")) : null,
      points?.wrong.size ? sign("wrong", `${points.wrong.size} on the wrong side`) : null,
      picture?.hatched ? sign("hatched", "no class") : null,
      points && points.row !== null ? sign("row", "point of this step") : null),
  };
}

const sign = (kind, title) => h("li", {}, h("i", { class: `sign sign-${kind}`, "aria-hidden": "true" }), title);
const pluralise = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
