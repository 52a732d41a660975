/**
 * Playground: points of the plane, a model, and the boundary that follows every change at once.
 */
import { get, latest, post } from "./api.js";
import { codePanel } from "./code.js";
import { onScheme } from "./colours.js";
import { button, inOneLine, problem, toast } from "./controls.js";
import { fill, h, makeListeners } from "./dom.js";
import { Plane } from "./plane.js";
import { askAbout } from "./playground-ask.js";
import { compareCard } from "./playground-compare.js";
import { dataCard } from "./playground-data.js";
import { exportCard } from "./playground-export.js";
import { hand } from "./playground-hand.js";
import { hoverCard } from "./playground-hover.js";
import { legend } from "./playground-legend.js";
import { liftCard } from "./playground-lift.js";
import { decode, encode } from "./playground-link.js";
import { factsCard, modelCard } from "./playground-model.js";
import { picture, regions, wrongRows } from "./playground-picture.js";
import { Scene } from "./playground-scene.js";
import { stepsCard } from "./playground-steps.js";
import { storyPlayer } from "./playground-story.js";
import { testCard } from "./playground-test.js";
import { tools } from "./playground-tools.js";

const GRID = 160; // cells along each side: three pixels or four
const COARSE = 60; // cells along a side while a slider moves
const MANY = 500; // points of which each place of a slider takes longer than a frame
const SLOW = 700; // ms until a fit is shown as working
const SPOKEN = 900; // ms without another answer until it is read aloud
const PAUSE = 1500; // ms between two cancels: a new process has begun by then
const SETTLED = 250; // ms without a change until the address follows
const FIRST = { generator: "moons", n: 200, noise: 0.2, seed: 0 };
/** The scene at the end of the last visit, and the address then, which follows a moment later. */
let remembered = { address: "", scene: "" };

/** @param {HTMLElement} view @param {URLSearchParams} query @returns {Promise<() => void>} */
export async function open(view, query) {
  const { on, signal, stop } = makeListeners();
  const scene = new Scene(await get("/api/playground/models", signal));
  const page = build(view, scene, on, signal);
  const back = !query.size || query.toString() === remembered.address;
  if (query.has("story")) await page.tell(query.get("story"), Number(query.get("at") ?? 1) - 1);
  else await page.begin(back ? new URLSearchParams(remembered.scene) : query);
  return () => {
    page.close();
    stop();
  };
}

function build(view, scene, on, signal) {
  const plane = new Plane();
  const { canvas } = plane;
  const code = codePanel(), model = modelCard(scene);
  const facts = factsCard(({ name, value }) => { scene.setValue(name, value); model.follow(); });
  const data = dataCard(scene, signal);
  const bar = tools(scene);
  const status = h("p", { class: "status caption", data: { test: "status" } });
  const spoken = h("p", { class: "visually-hidden", role: "status", "aria-live": "polite" });
  const signs = legend();
  const trouble = h("div", { class: "trouble", hidden: true, data: { test: "trouble" } });
  const steps = stepsCard(scene, { show: showStep, signal });
  const exports = exportCard(scene, { plane, link: () => new URL(address(), location.href).href, answer: () => fitted?.answer ?? null, story: () => story.told(), signal });
  const tests = testCard(scene, signal);
  const compare = compareCard(scene, signal);
  const lift = liftCard(scene, { found: () => shown?.found ?? null, signal });
  const story = storyPlayer({
    start: (query, before) => begin(new URLSearchParams(query), before), steps, lift, compare, on, left: remember,
    address: (query) => { history.replaceState(null, "", `#/playground?${query}`); held = location.hash; },
  });
  const unfinished = h("div", { class: "unfinished", role: "status", hidden: true, data: { test: "unfinished" } },
    h("strong", {}, "Not finished"), h("span", {}, "This fit was stopped: it is no answer yet."),
    button("Go on", () => { unfinished.hidden = true; fit({ route: "finish" }); }, "small primary", { data: { test: "go-on" } }));
  const working = h("div", { class: "working", role: "status", hidden: true, data: { test: "working" } },
    h("span", {}, "Working"), button("Cancel", cancel, "small", { data: { test: "cancel" } }));
  let fitted = null; // regions of the fitted model, and its facts about the points
  let shown = null; // regions on the plane
  let settled = 0, speaking = 0, exact = 0, ready = false, closed = false, finishing = false, written = "";
  let held = location.hash; // the address of this scene; any other is a link that was followed, and not yet here

  const address = () => `#/playground?${encode(scene)}`;
  const say = (sentence) => { spoken.textContent = sentence; };
  const explain = () => signs.show(plane.shown.picture, shown, { test: scene.test.length, out: scene.out.length, equal: scene.equalAxes });

  /** The address follows the scene, once it has come to rest. */
  function remember() {
    clearTimeout(settled);
    settled = setTimeout(() => {
      if (location.hash !== held || story.told()) return;
      written = encode(scene);
      history.replaceState(null, "", address());
      held = location.hash;
    }, SETTLED);
  }

  /** For whoever watches the page: whether the picture is of all that was asked for. Where the scene is drawn by then. */
  function markRest() {
    requestAnimationFrame(() => { canvas.dataset.settled = String(ready && !fit.busy() && !exact); });
  }

  const fit = latest(async ({ route = "fit", quick = false } = {}) => {
    canvas.dataset.settled = "false";
    if (closed || scene.present() < 2) return markRest();
    const { points, classes, view: window } = scene, mark = { ...tests.mark(), route, step: story.step() };
    const begun = performance.now();
    const coarse = quick && (scene.points.length >= MANY || fitted !== null);
    finishing = route === "finish";
    const slow = setTimeout(() => { working.hidden = false; }, SLOW);
    try {
      const answer = await askAbout(scene, route, { window, grid: coarse ? COARSE : GRID, quick }, signal);
      const trip = performance.now() - begun;
      return () => { if (!closed && scene.present() > 1) accept(answer, { points, classes, window, mark, coarse }, trip); };
    } catch (error) {
      return () => { if (error.name !== "AbortError") refuse(error); };
    } finally {
      finishing = false;
      clearTimeout(slow);
      working.hidden = true;
      markRest();
    }
  });

  /** The fit from scratch, as the code shown does it, once nothing has changed for a moment. */
  function fitExactly(later) {
    clearTimeout(exact);
    exact = later ? setTimeout(() => { exact = 0; fit(); }, SETTLED) : 0;
  }

  function accept(answer, { points, classes, window, mark, coarse }, trip) {
    const found = regions(answer, window);
    const moved = scene.points.length < points.length; // rows were taken out since: numbers of rows mean others now
    const wrong = moved ? [] : answer.wrong;
    const support = moved ? [] : answer.support ?? [];
    fitted = { found, classes, support: new Set(support), wrong: new Set(wrong), total: answer.milliseconds.total, answer: { ...answer, window } };
    trouble.hidden = true;
    unfinished.hidden = !answer.unfinished;
    fitExactly((answer.quick || coarse) && !answer.unfinished && mark.route !== "finish");
    tests.take(answer, mark);
    story.take(answer, mark.step);
    hover.forget();
    facts.show(answer);
    code.show(answer);
    status.textContent = `${ms(answer.milliseconds.total)} on the server, ${ms(trip)} there and back`;
    clearTimeout(speaking);
    speaking = setTimeout(() => say(answer.facts.slice(0, 2).map(({ title, value }) => `${title} ${value}`).join(", ")), SPOKEN);
    if (scene.step === null) paint(found, fitted);
    else plane.show({}, () => measurePaint(fitted));
  }

  /** Put regions on the plane, with their facts about points; classes keep the names of the request. */
  function paint(found, { classes = scene.classes, support = new Set(), wrong = new Set(), row = null, other = null, overlay = {} } = {}) {
    shown = { found, classes, support, wrong, row, other, overlay };
    plane.show({ picture: picture(found, classes), support, wrong, row, other, overlay }, () => measurePaint(fitted));
    explain();
    lift.follow();
  }

  /** For whoever watches the page: the answer is on the canvas now. */
  function measurePaint(answer) {
    if (!answer) return;
    canvas.dataset.fitted = String(Number(canvas.dataset.fitted) + 1);
    canvas.dataset.ms = answer.total.toFixed(1);
    canvas.dataset.wrong = String(shown?.wrong.size ?? 0);
    canvas.dataset.unfinished = String(Boolean(shown?.found.unfinished));
    canvas.dataset.view = JSON.stringify(plane.shown.window);
  }

  /** @param {{row?: number|null, other?: number|null, support?: number[], overlay?: object}} [about] */
  function showStep(found, { row = null, other = null, support = [], overlay = {} } = {}) {
    if (!found) {
      if (fitted) paint(fitted.found, fitted);
      return;
    }
    const idle = new Set([...scene.test, ...scene.out]);
    const wrong = found.fields.length ? wrongRows(found, scene.points, scene.classes).filter((i) => !idle.has(i)) : []; // no line yet: none is wrong
    paint(found, { row, other, support: new Set(support), wrong: new Set(wrong), overlay });
  }

  function wipe() {
    fitted = shown = null;
    trouble.hidden = unfinished.hidden = true;
    plane.show({ picture: null, support: new Set(), wrong: new Set(), row: null, other: null, overlay: {} });
  }

  function refuse(error) {
    wipe();
    status.textContent = "";
    facts.empty("There is no answer to show.");
    const again = button("Try again", () => { trouble.hidden = true; fit(); }, "small", { data: { test: "retry" } });
    fill(trouble, error.code === "cancelled" ? h("p", { class: "note" }, "The fit was cancelled.") : problem(error), again);
    trouble.hidden = false;
    explain();
  }

  async function cancel() {
    working.hidden = true;
    await post("/api/cancel", {}, signal).catch(() => {});
  }

  function hint() {
    if (!scene.points.length) return "Click to add points,\nor take some from the card Points.";
    return scene.present() < 2 ? "Add points of a second class\nto see a boundary." : "";
  }

  function follow(change) {
    if (!ready) return;
    remember();
    if (change === "class" || change === "step" || change === "restore") return;
    canvas.dataset.points = String(scene.points.length);
    const few = hint();
    if (scene.points.length < plane.shown.points.length) plane.show({ support: new Set(), wrong: new Set() }); // rows have moved up
    if (scene.names !== plane.shown.names && String(scene.names) !== String(plane.shown.names)) wipe(); // other data
    plane.show({ points: scene.points, names: scene.names, window: scene.view, hint: few, test: new Set(scene.test), out: new Set(scene.out) });
    canvas.dataset.view = JSON.stringify(scene.view);
    if (few) {
      wipe();
      canvas.dataset.wrong = "0";
      status.textContent = "";
      facts.empty("There is nothing to fit before two classes have points.");
      explain();
      fitExactly(false);
      markRest();
      return;
    }
    fitExactly(false);
    if (finishing) endFinish();
    fit({ quick: change === "model" });
  }

  /** Nobody waits for the old question any more. A cancel ends what is being computed: another question may be before it. */
  async function endFinish() {
    while (finishing && !closed) {
      await cancel();
      await new Promise((done) => { setTimeout(done, PAUSE); });
    }
  }

  const hover = hoverCard(plane, scene, { on, signal, shown: () => fitted && scene.step === null && !fitted.answer.unfinished ? shown : null });
  const zoom = (factor) => {
    const [x0, x1, y0, y1] = scene.view;
    const [cx, cy, w, t] = [(x0 + x1) / 2, (y0 + y1) / 2, ((x1 - x0) / 2) * factor, ((y1 - y0) / 2) * factor];
    scene.setWindow([cx - w, cx + w, cy - t, cy + t]);
  };
  const views = h("div", { class: "views", role: "group", "aria-label": "View" },
    button("−", () => zoom(1.25), "quiet small", { "aria-label": "Zoom out", title: "Zoom out", data: { test: "zoom-out" } }),
    button("+", () => zoom(0.8), "quiet small", { "aria-label": "Zoom in", title: "Zoom in", data: { test: "zoom-in" } }),
    button("Fit view", () => scene.setWindow(scene.around()), "quiet small", { data: { test: "zoom-fit" }, title: "Show all points" }));

  fill(view,
    h("div", { class: "intro" }, h("h1", {}, "Playground"),
      h("p", {}, "Put points on the plane, choose a model, drag its sliders: the boundary follows."),
      story.opener,
      button("Start over", startOver, "quiet small", { data: { test: "start-over" }, title: "The first points and the first model again" })),
    story.element,
    h("div", { class: "playground" },
      h("div", { class: "stack left" }, data.element, tests.element, exports.element),
      h("div", { class: "stack middle" },
        h("section", { class: "card plane-card", "aria-label": "Plane" }, bar.element,
          h("div", { class: "plane-box" }, canvas, working, trouble, unfinished, hover.element), steps.element,
          h("div", { class: "under-plane" }, bar.edits, views), signs.element, status, spoken)),
      h("div", { class: "stack right" }, model.element, facts.element)),
    compare.element, lift.element, code.element);

  const fingers = hand(plane, scene, { tool: bar.tool, say, on });
  plane.onShape = (aspect) => {
    if (Math.abs(aspect / scene.aspect - 1) < 0.01) return;
    scene.aspect = aspect;
    if (ready) scene.notify("view");
  };
  scene.onChange(follow);
  onScheme(() => { bar.show(); if (shown) paint(shown.found, shown); else plane.show({}); }, signal);
  on(document, "keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.target.matches("input[type=text], textarea")) return;
    const key = event.key.toLowerCase();
    if (key === "z" && !event.shiftKey) scene.undo();
    else if (key === "y" || key === "z") scene.redo();
    else return;
    event.preventDefault();
  });
  on(document, "dragover", (event) => { // everywhere: beside the page a file would replace it
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    view.classList.add("dropping");
  });
  on(document, "dragleave", (event) => { if (!event.relatedTarget) view.classList.remove("dropping"); });
  on(document, "drop", (event) => {
    event.preventDefault();
    view.classList.remove("dropping");
    data.take(event.dataTransfer.files[0]);
  });

  /** From the query of an address to the scene; where it cannot be read, to the first scene. `before`: what to do first. */
  async function begin(query, before = () => {}) {
    const first = new Scene(scene.schema);
    const requested = data.requests();
    try {
      const decoded = query.size ? decode(query, scene.schema)
        : { model: first.model, values: {}, rule: "predict", standardise: false, source: FIRST, view: null, step: null, share: 0, out: [], panes: [] };
      const found = decoded.source ? await data.fetch(decoded.source)
        : { points: decoded.points, classes: decoded.classes, names: decoded.names, home: decoded.view, source: null, notes: [] };
      ready = false;
      before();
      written = query.toString();
      const { model, rule, standardise, step, share, out, panes } = decoded;
      const values = { ...scene.values, [model]: { ...first.values[model], ...decoded.values } };
      Object.assign(scene, { model, rule, standardise, step, share, panes, values });
      if (requested === data.requests()) scene.put({ ...found, window: decoded.view ?? found.window, out }); // else a person was quicker
      ready = true;
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!query.size || error.code === "offline") throw error;
      toast(`The link could not be read: ${error.message.replace(/\.$/, "")}. Here is the first scene.`, "bad");
      await begin(new URLSearchParams());
      return;
    }
    model.follow();
    follow("points");
  }

  function startOver() {
    story.close();
    const failed = (error) => { if (error.code !== "offline") toast(inOneLine(error), "bad"); }; // the banner shows it
    begin(new URLSearchParams(), () => scene.keep()).catch(failed);
  }

  return {
    begin,
    tell: (key, at) => story.open(key, at),
    close: () => {
      closed = true;
      story.close();
      compare.close();
      lift.close();
      tests.close();
      hover.forget();
      fingers.end();
      clearTimeout(settled);
      clearTimeout(speaking);
      clearTimeout(exact);
      if (ready && !story.told()) remembered = { address: written, scene: encode(scene) };
      steps.close();
      plane.close();
    },
  };
}

const ms = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
