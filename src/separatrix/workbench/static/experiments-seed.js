/**
 * The seed of everything that is drawn: a whole number.
 */
import { freshId, h } from "./dom.js";
import { setChoices, getChoices } from "./experiments-choices.js";

const MOST = 2 ** 32 - 1;

/** @param {() => void} onChange */
export function seedField(onChange) {
  const id = freshId("seed");
  let good = true;
  const input = h("input", {
    type: "number", id, min: 0, max: MOST, step: 1, value: getChoices().seed, inputmode: "numeric",
    title: "Same seed, same numbers", data: { test: "seed" },
    on: {
      input: () => {
        const value = Number(input.value);
        good = input.value !== "" && Number.isInteger(value) && value >= 0 && value <= MOST;
        input.setAttribute("aria-invalid", String(!good));
        if (good) setChoices({ seed: value });
        onChange();
      },
    },
  });
  return {
    element: h("div", { class: "seed" }, h("label", { for: id }, "Seed"), input),
    valid: () => good,
  };
}
