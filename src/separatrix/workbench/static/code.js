/**
 * The Python and the command line that do the same as what is on the page.
 */
import { freshId, h } from "./dom.js";
import { toast } from "./controls.js";

/**
 * @returns {{element: HTMLElement, show: (code: {python?: string, command?: string}) => void}}
 */
export function codePanel() {
  const id = freshId("code");
  const code = h("code", {});
  const text = { python: "", command: "" };
  let shown = "python";
  const tab = (name, title) =>
    h("button", {
      type: "button", role: "tab", id: `${id}-${name}`, "aria-controls": id, class: "tab",
      on: { click: () => select(name), keydown: (event) => turn(event) },
    }, title);
  const tabs = { python: tab("python", "Python"), command: tab("command", "Command line") };
  const copy = h("button", { type: "button", class: "quiet small", on: { click: () => copyText(text[shown]) } }, "Copy");
  const panel = h("pre", { id, role: "tabpanel", tabindex: "0", class: "code" }, code);

  function select(name) {
    shown = name;
    for (const [key, element] of Object.entries(tabs)) {
      element.setAttribute("aria-selected", String(key === name));
      element.tabIndex = key === name ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", `${id}-${name}`);
    const lines = text[name] || "There is nothing to show yet.";
    if (code.textContent !== lines) code.textContent = lines; // a selection stays
    copy.disabled = !text[name];
  }

  function turn(event) {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const other = shown === "python" ? "command" : "python";
    select(other);
    tabs[other].focus();
    event.preventDefault();
  }

  select("python");
  return {
    element: h("section", { class: "code-panel", "aria-label": "The same as code" },
      h("div", { class: "code-head" },
        h("h2", {}, "The same as code"),
        h("div", { class: "tabs", role: "tablist" }, Object.values(tabs)),
        copy),
      panel),
    show: ({ python, command }) => {
      text.python = python ?? text.python;
      text.command = command ?? text.command;
      select(shown);
    },
  };
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied");
  } catch {
    toast("The browser does not allow copying; select the text instead");
  }
}
