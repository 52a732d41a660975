/**
 * What the signs on the plane mean: only those that are there, with how many.
 */
import { fill, h, setText } from "./dom.js";

export function legend() {
  const element = h("ul", { class: "legend", "aria-label": "Legend", data: { test: "legend" } });
  return {
    element,
    /** @param {import("./playground-picture.js").Picture|null} picture @param {{support: Set<number>, wrong: Set<number>, row: number|null}|null} points
     * @param {{test?: number, out?: number, equal?: boolean}} [more] */
    show: (picture, points, { test = 0, out = 0, equal = true } = {}) => list(element, [
      picture?.unfinished ? sign("hatched", "not finished") : null,
      picture?.lines.length ? sign("boundary", "boundary") : null,
      picture?.margins.length ? sign("margin", "margin, ±1") : null,
      points?.support.size ? sign("support", pluralise(points.support.size, "support vector")) : null,
      points?.wrong.size ? sign("wrong", `${points.wrong.size} on the wrong side`) : null,
      picture?.noClass && !picture.unfinished ? sign("hatched", "no class") : null,
      picture?.undecided ? sign("hatched", "undecided") : null,
      picture?.idle?.length ? sign("idle", "line of one pair or class, inside a region") : null,
      picture?.ellipses?.length ? sign("ellipse", "1 and 2 deviations") : null,
      test ? sign("test", pluralise(test, "test point")) : null,
      out ? sign("out", `${out} left out`) : null,
      equal ? null : sign("unequal", "axes of different scales"),
      points && points.row !== null ? sign("row", points.other === null || points.other === undefined ? "point of this step" : "the two points of this step") : null].filter(Boolean)),
  };
}

const sign = (kind, title) => ({ kind: `sign sign-${kind}`, title });

/** The signs in the list; those that stay only get their words. */
function list(element, signs) {
  if (element.children.length !== signs.length) fill(element, signs.map(() => h("li", {}, h("i", { "aria-hidden": "true" }), h("span", {}))));
  signs.forEach(({ kind, title }, i) => {
    const [picture, words] = element.children[i].children;
    if (picture.className !== kind) picture.className = kind;
    setText(words, title);
  });
}
const pluralise = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
