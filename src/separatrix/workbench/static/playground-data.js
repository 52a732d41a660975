/**
 * Where points come from: a generator, a data set, a file.
 */
import { latest, post } from "./api.js";
import { button, choice, problem, segments, slider } from "./controls.js";
import { fill, h } from "./dom.js";
import { roundPoints } from "./playground-link.js";
import { fromServer } from "./playground-scene.js";

const LARGEST = 900_000; // bytes of a file: what the server takes in one request, less what goes around it
const LARGEST_SEED = 9999;

/**
 * @param {import("./playground-scene.js").Scene} scene
 * @param {AbortSignal} signal
 */
export function dataCard(scene, signal) {
  const { generators, data } = scene.schema;
  const made = { generator: generators[0].key, n: 200, noise: 0.2, seed: 0 };
  const read = { data: data[0]?.name, columns: null }; // no columns: those that the server takes
  let file = null; // name and text of a file, and its columns
  let kind = "make";
  let arriving = false; // points requested here: the controls may have moved on, and stay
  const messages = h("div", { class: "data-notes", "aria-live": "polite", data: { test: "data-notes" } });

  let requests = 0; // times that a person requested points here
  const fetchLatest = latest(async ({ request, source, name }) => {
    try {
      const answer = await post("/api/playground/points", request, signal);
      scene.keep(name);
      const found = fromServer(answer, source?.data ? { ...source, columns: answer.names } : source);
      if (!source) roundForLink(found);
      arriving = true;
      scene.put(found);
      if (request.csv) {
        show("file"); // a scene that arrived while the file was read may have shown its own part
        columnsOf(answer);
      }
      if (source?.data === read.data && !read.columns) showColumns(answer.names);
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(messages, problem(error));
      if (request.csv && error.code === "refused") offerColumns();
    } finally {
      arriving = false;
    }
  });

  const load = (wanted) => {
    requests += 1;
    fetchLatest(wanted);
  };

  // A generator
  const generator = choice({
    title: "Shape", choices: generators.map(({ key, title }) => ({ value: key, title: capital(title) })), value: made.generator,
    onChange: (value) => { made.generator = value; make(); },
  });
  const bounds = generators[0];
  const number = slider({
    title: "Points", kind: "integer", least: bounds.least ?? 4, most: Math.min(1000, bounds.most ?? 1000), value: made.n,
    onInput: (value) => { made.n = value; make(); },
  });
  const noise = slider({
    title: "Noise", kind: "linear", least: 0, most: 1, value: made.noise,
    onInput: (value) => { made.noise = value; make(); },
  });
  const seed = h("span", { class: "caption", data: { test: "seed" } }, `seed ${made.seed}`);
  const another = () => { made.seed = (made.seed + 1) % LARGEST_SEED; make(); };
  const again = button("Again", another, "", { data: { test: "again" }, title: "The same with another seed" });
  const make = () => {
    seed.textContent = `seed ${made.seed}`;
    load({ request: { ...made }, source: { ...made }, name: "make" });
  };

  // A data set
  const dataset = choice({
    title: "Data set", choices: data.map(({ name, title }) => ({ value: name, title })), value: read.data ?? "",
    onChange: (value) => { read.data = value; read.columns = null; readData(); },
  });
  const columnsOfData = (name) => data.find((one) => one.name === name)?.columns ?? [];
  const asChoices = (names) => names.map((name) => ({ value: name, title: name }));
  const columns = [0, 1].map((axis) => choice({
    title: ["Across", "Up"][axis], choices: [], value: "", onChange: (value) => { read.columns = read.columns.with(axis, value); readData(); },
  }));
  function showColumns(names) {
    read.columns = names;
    columns.forEach((one, axis) => {
      one.choices(asChoices(columnsOfData(read.data)));
      one.set(names[axis]);
    });
  }
  const readData = () => load({ request: read.columns ? { ...read } : { data: read.data }, source: { ...read }, name: "data" });

  // A file
  const input = h("input", {
    type: "file", accept: ".csv,.tsv,.txt,text/csv", class: "visually-hidden", id: "playground-file", data: { test: "csv" },
    on: { change: () => { take(input.files[0]); input.value = ""; } },
  });
  const chosen = { x: null, y: null, label: null };
  const choosers = Object.fromEntries([["x", "Across"], ["y", "Up"], ["label", "Class"]].map(([part, title]) => [part, choice({
    title, choices: [], value: "", onChange: (value) => { chosen[part] = value || null; readFile(); },
  })]));
  const filename = h("p", { class: "caption file-name", dir: "auto" }, "No file yet");
  const chooserBox = h("div", { hidden: true, data: { test: "csv-columns" } }, Object.values(choosers).map(({ element }) => element));

  /** A file that was chosen or dropped. @param {File} [chosenFile] */
  async function take(chosenFile) {
    if (!chosenFile) return;
    show("file");
    if (chosenFile.size > LARGEST) {
      const message = `${chosenFile.name.slice(0, 60)} has ${(chosenFile.size / 1e6).toFixed(1)} MB; the playground takes files of up to ${LARGEST / 1e6} MB.`;
      return fill(messages, problem({ message, hint: "Take a part of it, or use it under Experiments." }));
    }
    try {
      file = { name: chosenFile.name.slice(0, 200), text: await chosenFile.text() };
    } catch {
      return fill(messages, problem({ message: "The browser could not read this file.", hint: "Choose one file, not a folder." }));
    }
    Object.assign(chosen, { x: null, y: null, label: null });
    readFile();
  }
  const readFile = () => load({ request: { csv: { ...file, ...chosen } }, source: null, name: "file" });

  function columnsOf(answer) {
    filename.textContent = file.name;
    chooserBox.hidden = false;
    choosers.x.choices(asChoices(answer.columns));
    choosers.y.choices(asChoices(answer.columns));
    [chosen.x, chosen.y] = answer.names;
    chosen.label ??= answer.label ?? null;
    choosers.label.choices([...(chosen.label === null ? [{ value: "", title: "As found" }] : []), ...asChoices(answer.label_columns)]);
    for (const [part, one] of Object.entries(choosers)) one.set(chosen[part] ?? "");
  }

  const hooks = {
    generator, n: number, noise, dataset, "column-x": columns[0], "column-y": columns[1],
    "csv-x": choosers.x, "csv-y": choosers.y, "csv-label": choosers.label,
  };
  for (const [test, { element }] of Object.entries(hooks)) element.querySelector("input, select").dataset.test = test;

  /** Columns to choose from where the server found none by itself: those of the first line. */
  function offerColumns() {
    filename.textContent = file.name;
    const names = firstLine(file.text);
    const list = (value) => [{ value: "", title: "As found" }, ...asChoices(names)].filter((one) => value === null || one.value !== "");
    chooserBox.hidden = names.length < 3;
    for (const [part, one] of Object.entries(choosers)) {
      one.choices(list(chosen[part]));
      one.set(chosen[part] ?? "");
    }
  }

  // The card
  const parts = {
    make: h("div", {}, generator.element, number.element, noise.element, h("div", { class: "row" }, again, seed)),
    data: h("div", {}, dataset.element, columns.map(({ element }) => element)),
    file: h("div", {}, h("div", { class: "file-drop" },
      h("p", {}, "Drop a CSV file on the page, or"), input, h("label", { for: "playground-file", class: "button" }, "Choose a file"), filename), chooserBox),
  };
  const tabs = segments({
    title: "Points from", value: kind,
    choices: [{ value: "make", title: "Generator" }, { value: "data", title: "Data set" }, { value: "file", title: "File" }],
    onChange: (value) => { show(value); if (value === "data") readData(); else if (value === "make") make(); },
  });
  for (const radio of tabs.element.querySelectorAll("input")) radio.nextElementSibling.dataset.test = `from-${radio.value}`;
  function show(value) {
    kind = value;
    tabs.set(value);
    for (const [name, part] of Object.entries(parts)) part.hidden = name !== value;
  }
  function follow() {
    const { source } = scene;
    fill(messages, scene.notes.map((note) => h("p", { class: "note" }, note)));
    if (arriving) return;
    if (source?.generator) {
      Object.assign(made, source);
      for (const [control, value] of [[generator, made.generator], [number, made.n], [noise, made.noise]]) control.set(value);
      seed.textContent = `seed ${made.seed}`;
      show("make");
    } else if (source?.data) {
      Object.assign(read, source);
      dataset.set(read.data);
      showColumns(source.columns);
      show("data");
    }
  }
  show(kind);
  scene.onChange((change) => { if (change === "points") follow(); });
  return {
    element: h("section", { class: "card data-card", "aria-label": "Points" }, h("h2", {}, "Points"), tabs.element, Object.values(parts), messages),
    requests: () => requests,
    /** Ask for the points of a source; throws where there are none. */
    fetch: async (source) => fromServer(await post("/api/playground/points", source, signal), source),
    take,
  };
}

/** Points of a file, as exact as a link can hold them; a note where that is less than the file has. */
function roundForLink(found) {
  const points = roundPoints(found.points);
  const same = points.every((point, row) => point[0] === found.points[row][0] && point[1] === found.points[row][1]);
  found.points = points;
  if (!same) found.notes = [...found.notes, "Coordinates are rounded to 1/6,000 of their range or finer, so that a link can hold them."];
}

/** The cells of the first line, by whichever delimiter makes most of them. */
function firstLine(text) {
  const [line] = text.replace(/^\ufeff/, "").split(/\r?\n/, 1);
  const cut = [",", ";", "\t"].map((mark) => line.split(mark)).reduce((most, cells) => (cells.length > most.length ? cells : most));
  return [...new Set(cut.map((cell) => cell.trim().replace(/^"(.*)"$/, "$1")))].filter((cell) => cell && cell.length <= 200).slice(0, 200);
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
