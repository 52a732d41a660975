/**
 * Start a comparison on a file of one's own: drop it, check it, choose the column to predict.
 */
import { base64, post } from "./api.js";
import { button, problem } from "./controls.js";
import { fill, freshId, h } from "./dom.js";
import { setChoices, getChoices } from "./experiments-choices.js";
import { uploadForm } from "./experiments-upload.js";
import { size } from "./experiments-words.js";

const MOST = 47 * 2 ** 20; // as base64 it must fit into 64 MiB

/**
 * @param {{models: {key: string, title: string}[]}} known
 * @param {{soon: () => void, signal: AbortSignal, onCode: (code: {python: string, command: string}) => void}} context
 */
export function fileForm(known, context) {
  const place = h("div", {});
  const trouble = h("div", { data: { test: "upload-problem" } });
  let form = null;
  let reading = null;

  function show() {
    const { upload } = getChoices();
    form = upload ? uploadForm(upload, known.models, { ...context, onOther: other, onGone: gone }) : null;
    fill(place, form ? form.element : dropArea(take));
    refresh();
  }

  const refresh = () => (form ? form.refresh() : context.onCode({ python: "", command: "" }));
  const other = () => {
    setChoices({ upload: null, target: null, roles: {} });
    fill(trouble);
    show();
    place.querySelector("input")?.focus();
  };
  const gone = (error) => {
    other();
    fill(trouble, problem(error));
  };

  async function take(file) {
    fill(trouble);
    if (file.size > MOST) {
      const message = `${file.name} has ${size(file.size)}; at most ${size(MOST)} can be uploaded.`;
      return fill(trouble, problem({ message, hint: "Use `separatrix compare` on the command line: it has no such limit." }));
    }
    reading = new AbortController();
    context.signal.addEventListener("abort", () => reading?.abort(), { once: true });
    fill(place, busy(file, () => reading?.abort()));
    try {
      const data = base64(new Uint8Array(await file.arrayBuffer()));
      const upload = await post("/api/uploads", { name: file.name, base64: data }, reading.signal);
      setChoices({ upload, target: null, roles: {} });
    } catch (error) {
      if (error.name !== "AbortError") fill(trouble, problem(unreadable(error)));
    }
    if (!context.signal.aborted) show();
  }

  for (const name of ["dragover", "drop"]) {
    // beside the area a file would replace the page
    document.addEventListener(name, (event) => event.preventDefault(), { signal: context.signal });
  }
  show();
  return { element: h("div", { class: "stack" }, trouble, place), refresh };
}

/** A folder, or a file that has gone, fails in the browser and not in the server. */
const unreadable = (error) =>
  error.code ? error : { message: "The browser could not read this file.", hint: "Choose one file, not a folder." };

const busy = (file, onCancel) =>
  h("div", { class: "drop reading", role: "status" },
    h("p", {}, h("strong", { class: "cut", title: file.name }, file.name)),
    h("p", { class: "caption" }, `Reading ${size(file.size)}`),
    h("div", { class: "meter unknown" }, h("i")),
    button("Cancel", onCancel, "small"));

/** @param {(file: File) => void} onFile */
function dropArea(onFile) {
  const id = freshId("file");
  const input = h("input", {
    type: "file", id, class: "drop-input", data: { test: "file" },
    on: { change: () => input.files[0] && onFile(input.files[0]) },
  });
  const area = h("label", { class: "drop", for: id, data: { test: "drop" } }, input,
    h("strong", {}, "Choose a file or drop it here"),
    h("span", { class: "caption" }, "A table with one row for each sample: CSV, TSV, Parquet, Arrow, LIBSVM or NumPy (npz). It stays on this machine."));
  const over = (on) => () => area.classList.toggle("over", on);
  area.addEventListener("dragenter", over(true));
  area.addEventListener("dragover", over(true));
  area.addEventListener("dragleave", over(false));
  area.addEventListener("drop", (event) => {
    over(false)();
    if (event.dataTransfer?.files.length) onFile(event.dataTransfer.files[0]);
  });
  return area;
}
