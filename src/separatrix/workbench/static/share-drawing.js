/**
 * A shared drawing: the page inside a file that Draw wrote. It has no server; choose a model to see its reasons.
 */
import { onScheme } from "./colours.js";
import { fill, h } from "./dom.js";
import { makeAnswers } from "./draw-answers.js";
import { picture, show as showPicture } from "./draw-pictures.js";
import { makeWhy } from "./draw-why.js";

/** @param {HTMLElement} view @param {any} data */
export function open(view, data) {
  const { reply, models } = data;
  const why = makeWhy();
  const answers = makeAnswers(data.chosen, show, () => why.element.scrollIntoView({ block: "nearest" }));
  const seen = picture("what the models see", "draw-seen");

  function show() {
    const key = answers.chosen();
    why.show(models.find((one) => one.key === key), reply.answers.find((one) => one.key === key) ?? null, reply);
  }

  showPicture(seen, reply.image);
  answers.setModels(models);
  answers.show(reply);
  show();
  onScheme(() => { why.again(); show(); }, new AbortController().signal);
  fill(view,
    h("h1", {}, "A drawing"),
    h("p", { class: "caption" }, data.own ? `Learned from the drawings of ${data.about}.` : `Learned from ${data.about}. Choose a model to see its reasons.`),
    h("div", { class: "shared-drawing" },
      h("section", { class: "card", "aria-label": "The drawing" },
        h("img", { class: "shared-paper", src: data.paper, alt: "The drawing" }), h("h2", {}, "What the models see"), seen,
        h("details", {}, h("summary", {}, "The same in Python"), h("pre", { class: "code", tabindex: "0" }, data.python))),
      h("section", { class: "card draw-answers", "aria-label": "Answers" }, answers.verdict, h("h2", {}, "Each model"), answers.list),
      why.element),
    h("p", { class: "caption" }, "Written by the workbench of separatrix. This file asks nobody for anything."));
}
