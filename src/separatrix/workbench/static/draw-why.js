/**
 * Why the chosen model answers what it does: the training pictures or the pixels that decided, and the nearest pictures.
 */
import { KINDS, percent } from "./draw-answers.js";
import { picture, show as showPicture, showEvidence } from "./draw-pictures.js";
import { words } from "./controls.js";
import { fill, h } from "./dom.js";

const short = (value, digits) => (value < 0.005 && value > 0 ? words(value) : value.toFixed(value < 100 ? digits : 0));
const signed = (weight) => `${weight < 0 ? "−" : "+"}${short(Math.abs(weight), 2)}`;

export function makeWhy() {
  const title = h("h2", {}, "Why");
  const body = h("div", { class: "stack" });
  let drawn = "";

  /** The same rows are not drawn twice: answers come many times a second. */
  function show(model, answer, reply) {
    const now = answer ? JSON.stringify([model, { ...answer, milliseconds: 0 }, reply.neighbours, reply.image]) : "nothing";
    if (now === drawn) return;
    drawn = now;
    title.textContent = answer ? `Why ${answer.label}` : "Why";
    if (!answer) return fill(body, h("p", { class: "hint" }, "Draw, then choose a model: its reasons are shown here."));
    fill(body, about(model), reasons(answer, reply), nearest(answer, reply), kind(answer));
  }

  return {
    element: h("section", { class: "card draw-why", "aria-label": "Why", data: { test: "why" } }, title, body),
    show,
    again: () => { drawn = ""; },
  };
}

function reasons(answer, reply) {
  const found = [
    answer.evidence && evidence(answer, reply),
    answer.terms?.length && deciders(answer, reply),
  ].filter(Boolean);
  const none = "This model sums up all training pictures in a few numbers: no single picture decided.";
  return found.length ? found : h("p", { class: "hint" }, none);
}

function deciders(answer, reply) {
  const made = answer.kind === "votes" ? voteTile : weightTile;
  return h("div", {},
    h("h3", {}, "Pictures that decided"),
    h("div", { class: "draw-tiles", data: { test: "decided" } }, answer.terms.map((one) => made(one, answer, reply))),
    h("p", { class: "hint" }, answer.kind === "votes"
      ? "Each votes for its own label, with its share of all votes."
      : totals(answer)));
}

/** "+26.6 for, −17.1 against, 6 of 682 shown". */
function totals({ label, terms, totals: sums }) {
  const all = `+${short(sums.for, 1)} for ${label}, −${short(-sums.against, 1)} against: `;
  return all + (terms.length < sums.count ? `${terms.length} of ${sums.count.toLocaleString("en-GB")} pictures shown.` : "all pictures shown.");
}

function weightTile(one, answer, reply) {
  const speaks = one.weight < 0 ? "against" : "for";
  return tile(one, reply, speaks, h("span", {}, signed(one.weight)), h("span", { class: "draw-kind" }, speaks));
}

/** A neighbour of another label than the answer's was outvoted: its share is no weight for the answer. */
function voteTile(one, answer, reply) {
  const speaks = one.label === answer.label ? "for" : "against";
  return tile(one, reply, speaks, h("span", {}, percent(Math.abs(one.weight))), h("span", { class: "draw-kind" }, speaks));
}

/** Distances only: nothing here is for or against. */
function nearest(answer, reply) {
  const shown = answer.terms?.length && answer.terms.every((one, i) => one.row === reply.neighbours[i]?.row);
  if (shown || !reply.neighbours.length) return null;
  return h("div", {},
    h("h3", {}, "Nearest pictures"),
    h("div", { class: "draw-tiles small", data: { test: "neighbours" } },
      reply.neighbours.map((one) => tile(one, reply, "near", h("span", { title: "distance" }, short(one.distance, 1))))),
    h("p", { class: "hint" }, "Each with its label and its distance."));
}

function tile(one, reply, kind, ...details) {
  const canvas = picture(`training picture ${one.row}, a ${one.label}`);
  if (reply.pictures[one.row]) showPicture(canvas, reply.pictures[one.row]);
  return h("figure", { class: `draw-tile ${kind}` }, canvas, h("figcaption", {}, h("b", { title: one.label }, one.label), details));
}

function evidence(answer, reply) {
  const rest = answer.confidence.filter((one) => one.label !== answer.label).sort((one, other) => other.share - one.share);
  const canvas = h("canvas", {
    class: "draw-evidence", role: "img", data: { test: "evidence" },
    "aria-label": `How much each pixel speaks for ${answer.label}, and how much against it`,
  });
  showEvidence(canvas, reply.image, answer.evidence);
  const against = rest.length ? `against it, for ${rest[0].label}` : "against it";
  return h("div", {},
    h("h3", {}, "Pixels that decided"),
    canvas,
    h("p", { class: "draw-legend" },
      h("span", {}, h("i", { class: "for" }), `speaks for ${answer.label}`),
      h("span", {}, h("i", { class: "against" }), against)));
}

const about = (model) =>
  h("p", { class: "caption draw-about" }, h("b", {}, model.title), model.caption ? `: ${model.caption.replace(/\.?$/, ".")}` : null);

const kind = (answer) => h("p", { class: "hint draw-kinds" }, `Its confidence is ${KINDS[answer.kind] ?? answer.kind}.`);
