/**
 * What the models see of the drawing, the data set they were fitted to, and how far loading is.
 */
import { picture, show as showPicture, wipe } from "./draw-pictures.js";
import { fill, freshId, h } from "./dom.js";

/** The picture that the models get. */
export function makeSeen() {
  const canvas = picture("what the models see", "draw-seen");
  const caption = h("p", { class: "hint" });
  return {
    element: h("div", { class: "draw-sees" }, h("h2", {}, "What they see"), canvas, caption),
    show: (reply) => {
      if (reply) showPicture(canvas, reply.image);
      else wipe(canvas);
      canvas.dataset.test = "seen";
      caption.textContent = reply ? `${reply.side} × ${reply.side}` : "Nothing yet";
    },
  };
}

/** The data sets, those that are not here with what to do. @param {(name: string) => void} onChoose */
export function makeData(onChoose) {
  const name = freshId("data");
  const element = h("fieldset", { class: "draw-data" });
  let drawn = "";

  function one(set, current) {
    const id = `${name}-${set.name}`;
    const here = set.state !== "missing";
    const size = set.rows ? `${set.rows.toLocaleString("en-GB")} pictures` : "";
    return h("div", { class: "draw-set" },
      h("input", {
        type: "radio", name, id, value: set.name, checked: set.name === current, disabled: !here,
        data: { test: "data", name: set.name }, on: { change: () => onChoose(set.name) },
      }),
      h("label", { for: id }, h("span", {}, set.title), h("span", { class: "hint" }, here ? size : (set.hint || "not here"))));
  }

  return {
    element,
    show: (state) => {
      const now = JSON.stringify([state.data, state.current, state.caption]);
      for (const input of element.querySelectorAll("input")) input.checked = input.value === state.current; // a choice may be refused
      if (now === drawn || (drawn && !state.data.length)) return; // a worker that starts again knows none yet
      drawn = now;
      const focused = element.contains(document.activeElement) ? document.activeElement.value : null;
      fill(element, h("legend", {}, "Learned from"), state.data.map((set) => one(set, state.current)),
        !state.data.length ? h("p", { class: "hint" }, "Looking for data sets") : null,
        state.caption ? h("p", { class: "hint" }, sentence(state.caption)) : null);
      if (focused !== null) [...element.querySelectorAll("input")].find((input) => input.value === focused)?.focus();
    },
  };
}

const sentence = (words) => words.charAt(0).toUpperCase() + words.slice(1);

/** How many models are there, and which one is being fitted. */
export function makeProgress() {
  const caption = h("p", {});
  const meter = h("div", { class: "meter", role: "progressbar", "aria-label": "Models loaded", "aria-valuemin": 0 }, h("i", {}));
  const element = h("div", { class: "draw-progress", hidden: true, data: { test: "loading" } }, caption, meter);
  return {
    element,
    show: (loading) => {
      element.hidden = !loading;
      if (!loading) return;
      const { done, total, message } = loading;
      caption.textContent = total > 1 ? `${done} of ${total} models: ${message}` : sentence(message || "starting");
      meter.style.setProperty("--share", String(total ? done / total : 0));
      meter.setAttribute("aria-valuemax", String(total));
      meter.setAttribute("aria-valuenow", String(done));
    },
  };
}
