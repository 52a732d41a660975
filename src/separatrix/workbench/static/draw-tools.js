/**
 * What is done with the paper: undo, redo, clear, an example, the width of the pen, the drawing as an image.
 */
import { button, slider, toast } from "./controls.js";
import { download, h } from "./dom.js";
import { EXAMPLES } from "./draw-examples.js";
import { PENS } from "./draw-keep.js";

/** @param {ReturnType<import("./draw-pad.js").makePad>} pad @param {number} pen @param {(pen: number) => void} onPen */
export function makeTools(pad, pen, onPen) {
  let example = 0;
  const undo = button("Undo", () => pad.undo(), "", { data: { test: "undo" } });
  const redo = button("Redo", () => pad.redo(), "", { data: { test: "redo" } });
  const clear = button("Clear", () => pad.clear(), "", { data: { test: "clear" } });
  const show = button("Example", () => pad.put(EXAMPLES[example++ % EXAMPLES.length]), "quiet", { data: { test: "example" } });
  const save = button("Save image", async () => {
    try {
      download("drawing.png", await pad.image(), "image/png");
    } catch (error) {
      toast(error.message, "bad");
    }
  }, "quiet", { data: { test: "save-image" } });
  const width = slider({
    title: "Pen", kind: "log", ...PENS, value: pen, help: "Width of the pen, relative to that of the data set",
    onInput: (value) => { onPen(value); pad.setWidth(value); },
  });
  width.element.classList.add("draw-width");
  width.element.dataset.test = "pen";
  return {
    element: h("div", { class: "draw-toolbox" },
      h("div", { class: "row draw-tools" }, undo, redo, clear, show, save), width.element),
    /** @param {boolean} hasInk */
    refresh: (hasInk) => {
      undo.disabled = !pad.canUndo();
      redo.disabled = !pad.canRedo();
      clear.disabled = save.disabled = !hasInk;
      show.hidden = hasInk;
    },
  };
}
