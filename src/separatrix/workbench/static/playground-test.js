/**
 * Training and test: how many points are held out, both errors live, and a strip of errors along one slider.
 */
import { latest } from "./api.js";
import { choice, percent, segments, words } from "./controls.js";
import { fill, h, svg } from "./dom.js";
import { askAbout } from "./playground-ask.js";

const SHARES = [["0", "None"], ["0.3", "30 %"], ["0.5", "50 %"]];
const WIDE = 300, HIGH = 96, EDGE = 4;
const VALUES = 25; // along the strip
const AT_ONCE = 4; // fits of one question: a slider that is dragged meanwhile is answered soon
const CALM = 350; // ms without a change before the rest of the strip is computed

/** @param {import("./playground-scene.js").Scene} scene @param {AbortSignal} signal */
export function testCard(scene, signal) {
  let name = "", known = new Map(), about = [], timer = 0, closed = false, listed = "";
  const share = segments({
    title: "Held out for testing", value: "0", choices: SHARES.map(([value, title]) => ({ value, title })),
    onChange: (value) => scene.set({ share: Number(value) }),
  });
  for (const input of share.element.querySelectorAll("input")) input.nextElementSibling.dataset.test = `share-${input.value}`;
  const errors = h("p", { class: "both-errors", "aria-live": "polite", data: { test: "both-errors" } });
  const along = choice({ title: "Error against", choices: [], value: "", onChange: (value) => { name = value; follow(); } });
  along.element.querySelector("select").dataset.test = "strip-parameter";
  const marker = svg("path", { class: "chart-marker" }), curves = svg("g", {});
  const drawing = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "strip", role: "img", data: { test: "strip" } }, curves, marker);
  const ends = h("p", { class: "caption strip-ends" });
  const key = h("p", { class: "caption strip-key" });
  const strip = h("div", { class: "strip-box", hidden: true }, along.element, drawing, ends, key);

  const sliders = () => {
    const now = scene.parameters;
    return scene.kind.parameters.filter(({ kind, name: own }) => ["log", "linear", "integer"].includes(kind) && own in now);
  };
  const slider = () => sliders().find((one) => one.name === name);

  /** What the errors of the strip belong to: all but the slider itself. */
  function belongsTo() {
    const { points, classes, model, rule, standardise, share, out } = scene;
    const now = name ? [points, classes, model, rule, standardise, share, out, name, JSON.stringify({ ...scene.parameters, [name]: 0 })] : [];
    return now.length === about.length && now.every((part, i) => part === about[i]) ? about : now;
  }

  function follow() {
    share.set(String(scene.share));
    const all = sliders();
    if (!all.some((one) => one.name === name)) name = (all.find((one) => ["gamma", "n_neighbors", "degree"].includes(one.name)) ?? all[0])?.name ?? "";
    const titles = all.map((one) => ({ value: one.name, title: one.title }));
    if (listed !== (listed = JSON.stringify(titles))) along.choices(titles);
    along.set(name);
    strip.hidden = !name || scene.rule !== "predict";
    const now = belongsTo();
    if (now !== about) {
      known = new Map();
      about = now;
      draw();
    }
    move();
    clearTimeout(timer);
    if (!strip.hidden && scene.present() > 1 && scene.points.length <= 1000) timer = setTimeout(() => more(), CALM);
  }

  const positions = () => {
    const { kind, least, most } = slider();
    const all = Array.from({ length: VALUES }, (_, i) => i / (VALUES - 1)).map((p) => (kind === "log" ? least * (most / least) ** p : least + p * (most - least)));
    return [...new Set(all.map((value) => (kind === "integer" ? Math.round(value) : Number(value.toPrecision(3)))))];
  };

  /** The next values that are not known, the nearest to the slider first. */
  const more = latest(async () => {
    if (closed || strip.hidden || !slider()) return;
    const mine = about, now = scene.parameters[name];
    const place = placer(slider()), distance = (value) => Math.abs(place(value) - place(now));
    const missing = positions().filter((value) => !known.has(value)).sort((a, b) => distance(a) - distance(b)).slice(0, name === "n_neighbors" ? VALUES : AT_ONCE); // all k come from one search
    if (!missing.length) return;
    try {
      const { errors: found } = await askAbout(scene, "sweep", { name, values: missing }, signal);
      if (mine !== about || closed) return;
      for (const one of found) known.set(one.value, one);
      draw();
      timer = setTimeout(() => more(), 30);
    } catch {
      // the fit of the plane tells what is wrong
    }
  });

  /** Where a value is on its slider, from 0 to 1. */
  const placer = ({ kind, least, most }) => (value) => (kind === "log" ? Math.log(value / least) / Math.log(most / least) : (value - least) / (most - least));
  const across = (place) => (EDGE + place * (WIDE - 2 * EDGE)).toFixed(1);

  /** The mark of the slider's own place: all that moves with it. */
  function move() {
    const own = slider();
    if (!strip.hidden && own) marker.setAttribute("d", `M${across(placer(own)(scene.parameters[name]))} 0V${HIGH}`);
  }

  function draw() {
    const own = slider();
    if (strip.hidden || !own) return;
    const place = placer(own);
    const found = [...known.values()].filter(({ train }) => train !== null).sort((a, b) => a.value - b.value);
    const highest = found.reduce((most, { train, test }) => Math.max(most, train, test ?? 0), 0.02);
    const y = (error) => (HIGH - EDGE - (error / highest) * (HIGH - 2 * EDGE)).toFixed(1);
    const places = (part) => found.filter((one) => one[part] !== null).map((one) => `${across(place(one.value))} ${y(one[part])}`);
    const line = (part) => places(part).map((at, i) => `${i ? "L" : "M"}${at}`).join("");
    const dots = (part) => places(part).map((at) => `M${at}h0`).join(""); // in one path: a slider that is dragged adds hundreds
    fill(curves, svg("path", { d: line("train"), class: "strip-line strip-train" }), svg("path", { d: line("test"), class: "strip-line strip-test" }),
      svg("path", { d: dots("train"), class: "strip-dots strip-train" }),
      svg("path", { d: dots("test"), class: "strip-dots strip-test" }), svg("path", { d: dots("test"), class: "strip-dots strip-holes" }));
    drawing.dataset.known = String(found.length);
    const best = found.filter(({ test }) => test !== null).reduce((least, one) => (!least || one.test < least.test ? one : least), null);
    drawing.setAttribute("aria-label", `Error against ${name}: ${found.length} values${best ? `, least test error ${ratio(best.test)} at ${words(best.value)}` : ""}`);
    const { least, most } = own;
    ends.textContent = `${words(least)} to ${words(most)}, errors 0 to ${ratio(highest)}`;
    fill(key, h("i", { class: "strip-sign strip-train" }), "training", scene.share ? [h("i", { class: "strip-sign strip-test" }), `test${best ? `, least ${ratio(best.test)} at ${words(best.value)}` : ""}`] : ", hold points out to see the other");
  }

  scene.onChange((change) => { if (change !== "class" && change !== "step" && change !== "view") follow(); });
  follow();
  return {
    element: h("section", { class: "card test-card", "aria-label": "Training and test" }, h("h2", {}, "Training and test"), share.element, errors, strip),
    /** What a fit that is asked for now will be about. */
    mark: () => ({ about, value: scene.parameters[name] }),
    /** The errors of a fit that has arrived. */
    take: (answer, mark) => {
      const { train, test } = answer.errors;
      if (answer.unfinished) fill(errors, "Not finished");
      else fill(errors, h("span", {}, "training ", h("b", {}, percent(train))), test ? h("span", {}, "test ", h("b", {}, percent(test))) : null);
      const { value } = mark;
      if (value === undefined || mark.about !== about || answer.unfinished || scene.rule !== "predict") return;
      known.set(value, { value, train: train[0] / train[1], test: test ? test[0] / test[1] : null });
      draw();
    },
    close: () => { closed = true; clearTimeout(timer); },
  };
}

const ratio = (value) => `${(100 * value).toFixed(1)} %`;
