/**
 * What stands above the plane: the classes, the tools of the hand, back and forth.
 */
import { button, toast } from "./controls.js";
import { fill, freshId, h } from "./dom.js";
import { mark } from "./playground-marks.js";
import { LETTERS, MOST_CLASSES } from "./playground-scene.js";

const LONGEST = 200; // letters of a class
const TOOLS = [
  ["add", "Add", "Click adds a point, drag moves one"],
  ["spray", "Spray", "Press and move to scatter points"],
  ["erase", "Erase", "Click or drag over points to remove them; also Alt-click or a right click"],
];

/** @param {import("./playground-scene.js").Scene} scene */
export function tools(scene) {
  let tool = "add";
  let renaming = false;
  const classes = h("div", { class: "classes", role: "group", "aria-label": "Class of new points" });
  const name = freshId("tool");
  const choices = TOOLS.map(([value, title, help]) => [
    h("input", { type: "radio", name, value, id: `${name}-${value}`, checked: value === tool, on: { change: () => { tool = value; } } }),
    h("label", { for: `${name}-${value}`, title: help, data: { test: `tool-${value}` } }, title),
  ]);
  const undo = button("Undo", () => scene.undo(), "quiet small", { data: { test: "undo" }, title: "Ctrl-Z" });
  const redo = button("Redo", () => scene.redo(), "quiet small", { data: { test: "redo" }, title: "Ctrl-Shift-Z" });
  const clear = button("Clear", () => { scene.keep(); scene.edit([]); }, "quiet small", { data: { test: "clear" } });

  const rename = button("Rename", () => { renaming = true; show(); classes.querySelector("input").select(); }, "quiet small", { data: { test: "class-rename" }, title: "Rename the chosen class" });
  const more = button("+", addClass, "quiet small add-class", { data: { test: "class-add" }, title: "Add a class", "aria-label": "Add a class" });
  const manage = h("div", { class: "manage" }, rename, more);

  /** What may follow any change: as many are those of a slider, it leaves the classes as they are. */
  function enable() {
    undo.disabled = !scene.past.length;
    redo.disabled = !scene.future.length;
    clear.disabled = !scene.points.length;
  }

  function show() {
    const focused = classes.contains(document.activeElement) ? document.activeElement.dataset.test : null;
    const sizes = scene.classes.map((_, c) => scene.points.filter((point) => point[2] === c).length);
    fill(classes, scene.classes.map((title, c) => (renaming && c === scene.chosen ? renamer(title) : classButton(title, c, sizes[c]))));
    if (focused?.startsWith("class-")) classes.querySelector(`[data-test="${focused}"]`)?.focus();
    manage.hidden = renaming;
    more.hidden = scene.classes.length >= MOST_CLASSES;
    enable();
  }

  const classButton = (title, c, size) => h("button", {
    type: "button", class: "class", "aria-pressed": String(c === scene.chosen), title: `${title}: ${size} points${c < 9 ? `; key ${c + 1}` : ""}`,
    data: { test: `class-${c}` }, on: { click: () => scene.choose(c) },
  }, mark(c), h("span", { class: "class-name", dir: "auto" }, title), h("span", { class: "class-size" }, size));

  function renamer(title) {
    const input = h("input", {
      type: "text", value: title, maxlength: LONGEST, "aria-label": "Name of the class", data: { test: "class-name" },
      on: { keydown: (event) => { if (event.key === "Enter") done(); if (event.key === "Escape") { renaming = false; show(); } }, blur: () => done() },
    });
    const done = () => {
      if (!renaming) return;
      renaming = false;
      const again = classes.contains(document.activeElement);
      renameClass(input.value.replaceAll("\0", "").toWellFormed?.() ?? input.value);
      show();
      if (again) classes.querySelector("[aria-pressed=true]").focus();
    };
    return h("span", { class: "renamer" }, mark(scene.chosen), input, button("Done", done, "small", { data: { test: "class-done" } }));
  }

  function renameClass(title) {
    if (title === scene.classes[scene.chosen]) return;
    if (!title.trim() || scene.classes.includes(title)) {
      toast(title.trim() ? `There is a class ${title.slice(0, 60)} already` : "A class needs a name");
      return;
    }
    scene.keep();
    scene.put({ classes: scene.classes.map((old, c) => (c === scene.chosen ? title : old)), source: null });
  }

  function addClass() {
    const title = LETTERS.find((letter) => !scene.classes.includes(letter)) ?? `class ${scene.classes.length + 1}`;
    scene.keep();
    scene.put({ classes: [...scene.classes, title] });
    scene.choose(scene.classes.length - 1);
  }

  scene.onChange((change) => {
    if (change === "view" || change === "step") return;
    if (change === "model") enable();
    else if (!renaming || !classes.contains(document.activeElement)) show();
  });
  show();
  return {
    element: h("div", { class: "tools" }, classes, manage,
      h("fieldset", { class: "control segments" }, h("legend", { class: "visually-hidden" }, "Tool"), h("div", {}, choices))),
    edits: h("div", { class: "row edits" }, undo, redo, clear),
    tool: () => tool,
    show,
  };
}
