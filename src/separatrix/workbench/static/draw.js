/**
 * Draw: a digit on paper, the answers of all models while the pen moves, and why.
 */
import { ApiError, bytes, connection, get, latest, post } from "./api.js";
import { codePanel } from "./code.js";
import { onScheme } from "./colours.js";
import { button, inOneLine, problem, toast } from "./controls.js";
import { download, fill, h, makeListeners } from "./dom.js";
import { majority, makeAnswers } from "./draw-answers.js";
import { makeData, makeProgress, makeSeen } from "./draw-data.js";
import { restore, save } from "./draw-keep.js";
import { makeOwn } from "./draw-own.js";
import { makePad } from "./draw-pad.js";
import { shareDrawing } from "./draw-share.js";
import { makeTally } from "./draw-tally.js";
import { makeTeach } from "./draw-teach.js";
import { makeTools } from "./draw-tools.js";
import { makeWhy } from "./draw-why.js";

const REASONS = 8; // pictures requested with each answer
const POLL = 300; // milliseconds, while models load
const AGAIN = 2000; // milliseconds, while the server is away
const REST = 5000; // milliseconds, when all is loaded: the worker may be started again
const WHY = 150; // milliseconds between new reasons while the pen moves: pictures take longer to paint than words
const QUIET = 700; // milliseconds without a change before the majority is read out
const INVITES = "Draw a digit on the paper. Every model answers while the pen moves.";
const OWN = "Draw one of your classes, then press its name. Models answer once two classes have drawings.";
const ASKS = "Asking the models.";
const WAITS = "The models are loading: the answers come with them.";

/** @param {HTMLElement} view @returns {Promise<() => void>} what closes the page */
export async function open(view) {
  const listeners = makeListeners();
  const before = restore();
  let state = null;
  let reply = null; // the last answer
  let timer = 0;
  let reading = 0;
  let reasons = 0;
  let reasoned = 0;
  let pen = before.pen;
  let answered = 0;
  let asking = 0;
  let replied = null; // the strokes that the last answer is about
  let closed = false;
  let lastState = ""; // the last state, as text
  let lasting = false; // an error that asking again would only repeat

  const live = h("p", { class: "visually-hidden", role: "status", "aria-live": "polite" });
  const trouble = h("div", { class: "draw-trouble", data: { test: "problem" }, hidden: true });
  const notice = h("div", { class: "draw-trouble", data: { test: "notice" }, hidden: true });
  const pace = h("span", { class: "hint", data: { test: "pace" } });
  const foot = h("p", { class: "hint draw-foot" });
  const seen = makeSeen();
  const why = makeWhy();
  const progress = makeProgress();
  const code = codePanel();
  const data = makeData(changeData);
  const tally = makeTally();
  const own = makeOwn(onNames);
  const teach = makeTeach({ onTeach, onRight, onUndo: onUndoCorrection, onForget });
  const answers = makeAnswers(before.chosen, () => { showWhy(); keepNow(); askAgain(); }, seeWhy);
  const pad = makePad({
    strokes: before.strokes, width: pen, onInk, onEnter: () => answers.focus(), say: (words) => { live.textContent = words; },
    onFull: () => toast("The paper is full: clear it to draw on"),
  });
  const tools = makeTools(pad, pen, (value) => { pen = value; keepNow(); });
  const exporter = button("Save model", onExport, "quiet small", { title: "The file of the chosen model, as it is now", hidden: true, data: { test: "export-model" } });
  const sharer = button("Share", onShare, "quiet small", { hidden: true, title: "The drawing, the answers and their reasons in one file that opens anywhere", data: { test: "share-drawing" } });
  const heading = h("h1", {}, "Draw a digit");
  const title = h("p", {}, "Models answer while you draw, and show why.");

  const results = h("section", { class: "card draw-answers", "aria-label": "Answers", data: { test: "results", answered: "0" } },
    answers.verdict, teach.element, trouble, notice, progress.element,
    h("div", { class: "draw-head" }, h("h2", {}, "Each model"), pace, sharer, exporter), answers.list,
    foot);
  fill(view,
    h("div", { class: "intro" }, heading, title),
    h("div", { class: "draw-page" },
      h("div", { class: "draw-left" },
        h("div", { class: "draw-frame" }, pad.element),
        tools.element,
        own.element,
        h("p", { class: "hint draw-keys" }, keyboardHint())),
      results,
      h("section", { class: "card draw-input", "aria-label": "Input" }, seen.element, data.element),
      why.element),
    code.element, live);

  const titles = () => new Map((state?.models ?? []).map((model) => [model.key, model.title]));
  const keepNow = () => save(pad.strokes(), answers.wanted(), pen);
  const side = () => state?.data.find((set) => set.name === state.current)?.side ?? null;
  const hint = () => (!hasInk() ? (state?.own ? OWN : INVITES) : state?.own && !state.models.length ? OWN : state?.ready ? ASKS : WAITS);
  const hasInk = () => pad.strokes().length > 0;

  /** Ask for what is on the paper now. One question at a time, the newest next. */
  const ask = latest(async ({ strokes, at, done }) => {
    if (closed || !strokes.length) return;
    const width = pen;
    try {
      const found = await post("/api/draw/answer", { strokes, pen: width, count: REASONS, model: answers.chosen() || null }, listeners.signal);
      if (closed || !hasInk()) return;
      calm();
      const fewer = found.answers.length < (state?.models.length ?? 0); // another worker loads the models again
      if (fewer) askSoon();
      if (fewer && strokes === replied && reply) return;
      replied = strokes;
      showReply(found, done);
      measurePaint(at);
      results.dataset.settled = String(strokes === pad.strokes() && width === pen); // whether these answers are about all that is drawn
      if (found.side !== side()) watch(); // the worker was started again, and holds other models
    } catch (error) {
      if (!closed) wrong(error);
    }
  });
  /** The same drawing, other models or another one chosen: no pen moved. */
  const askSoon = () => { clearTimeout(asking); asking = setTimeout(askAgain, POLL); };
  const askAgain = () => { if (hasInk()) ask({ strokes: pad.strokes(), at: null, done: true }); };

  function onInk(strokes, { at, done }) {
    results.dataset.settled = String(!strokes.length);
    teach.clear();
    tools.refresh(hasInk());
    teach.usable(reply, hasInk());
    if (done) keepNow();
    if (!strokes.length) return showReply(null, true);
    if (!reply) answers.show(null, hint());
    if (done || trouble.hidden) ask({ strokes, at, done }); // in trouble, once a stroke is enough
  }

  function showReply(found, done) {
    reply = found && !found.empty ? found : null;
    seen.show(reply);
    sharer.hidden = !reply?.answers.length;
    answers.show(reply, hint());
    teach.usable(reply, hasInk());
    if (done) showWhy();
    else reasons ||= setTimeout(showWhy, Math.max(0, reasoned + WHY - performance.now()));
    if (!reply) pace.textContent = "";
    if (done) showCode();
    readOut();
  }

  /** The reasons of the chosen model. */
  function showWhy() {
    clearTimeout(reasons);
    reasons = 0;
    reasoned = performance.now();
    const answer = reply?.answers.find((one) => one.key === answers.chosen()) ?? null;
    const model = state?.models.find((one) => one.key === answers.chosen());
    why.show(model, model ? answer : null, reply);
  }

  /** Reasons below the edge of the screen come into sight, as on a phone. */
  function seeWhy() {
    if (why.element.getBoundingClientRect().top > innerHeight - 80) why.element.scrollIntoView({ block: "start" });
  }

  const showCode = () => code.show(reply?.python ? reply : (state ?? {}));

  /** The majority, for those who listen, once the pen rests. */
  function readOut() {
    clearTimeout(reading);
    if (!reply?.answers.length) return;
    const { label, message } = majority(reply);
    reading = setTimeout(() => { live.textContent = `${label}, ${message}`; }, QUIET);
  }

  /** From the pen to answers on the screen: after the next frame is made. @param {number|null} at null: no pen moved */
  function measurePaint(at) {
    requestAnimationFrame(() => setTimeout(() => {
      results.dataset.answered = String(++answered);
      if (at === null) return;
      const ms = performance.now() - at;
      results.dataset.ms = ms.toFixed(1);
      pace.textContent = `${ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`} from pen to answer`;
    }));
  }

  function wrong(error) {
    if (error.name === "AbortError") return;
    trouble.hidden = false;
    results.classList.add("stale");
    const away = error.code === "offline"; // the banner at the top of the page shows it
    const known = error instanceof ApiError ? error : { message: "The answer could not be shown.", hint: error.message };
    fill(trouble, away ? null : problem(known),
      h("p", { class: "row" },
        h("span", { class: "hint" }, away ? "Waiting for the workbench. The drawing is kept." : "The drawing is kept."),
        button("Try again", () => { watch(); askAgain(); }, "small", { data: { test: "again" } })));
    lasting = ![0, 401, 408, 409, 503].includes(error.status);
    watchIn(AGAIN);
  }

  function calm() {
    lasting = false;
    if (trouble.hidden) return;
    trouble.hidden = true;
    results.classList.remove("stale");
    fill(trouble);
  }

  function watchIn(milliseconds) {
    clearTimeout(timer);
    if (!closed) timer = setTimeout(watch, milliseconds);
  }

  /** The state now, and again while something loads. */
  async function watch() {
    clearTimeout(timer);
    if (document.hidden) return watchIn(REST);
    try {
      showState(await get("/api/draw/state", listeners.signal));
    } catch (error) {
      if (!closed) wrong(error);
    }
  }

  function showState(now) {
    if (closed) return;
    watchIn(now.ready ? REST : POLL);
    const text = JSON.stringify(now);
    if (text === lastState && (trouble.hidden || lasting)) return; // nothing new
    lastState = text;
    state = now;
    if (!lasting) calm();
    answers.setModels(now.models);
    data.show(now);
    progress.show(now.loading);
    if (now.classes.length || now.own) teach.setClasses(now.classes, now.own);
    teach.setCorrections(now.corrections);
    own.show(now.own);
    heading.textContent = now.own ? "Draw your own classes" : "Draw a digit";
    exporter.hidden = !now.models.length;
    showTally();
    notice.hidden = !now.problem;
    fill(notice, now.problem ? problem({ message: now.problem }) : null);
    title.textContent = `${count(now.models.length)} while you draw, and ${now.models.length === 1 ? "shows" : "show"} why.`;
    foot.textContent = now.models.length
      ? held(now)
      : "The models appear here one by one as they are fitted.";
    if (!hasInk() || (now.ready && !now.models.length)) showReply(null, true); // answers stay while another worker loads
    if (!lasting) askAgain();
  }

  async function changeData(name) {
    await applyChange(async () => {
      const now = await post("/api/draw/data", { data: name }, listeners.signal);
      teach.clear();
      showReply(null, false); // answers of other models
      showState(now);
    });
  }

  const showTally = () => {
    if (!state) return;
    teach.setTally(tally.words(state.current));
    answers.showTally((key) => tally.modelWords(state.current, key));
  };

  /** A person says what the drawing is: that counts, with the answers from before anything is learned. */
  function judge(label) {
    if (state && !state.own && reply) tally.add(state.current, pad.strokes(), label, reply);
    showTally();
  }

  function onRight() {
    judge(reply.verdict.label);
    toast("Counted as right");
  }

  async function onTeach(label) {
    judge(label);
    await applyChange(async () => {
      const reported = await post("/api/draw/learn", { strokes: pad.strokes(), pen, label }, listeners.signal);
      if (closed) return;
      calm();
      if (reported.own) pad.put([]); // for the next drawing
      else {
        showReply(reported.answer, true);
        teach.report(label, reported, titles());
        askAgain(); // the script is about the chosen model
      }
      await watch();
    });
  }

  async function onUndoCorrection() {
    await applyChange(async () => {
      showState(await post("/api/draw/undo", {}, listeners.signal));
      teach.clear();
      toast(state.own ? "The last drawing is forgotten" : "The last correction is undone");
    });
  }

  async function onNames(names) {
    showState(await post("/api/draw/classes", { names }, listeners.signal));
    pad.element.scrollIntoView({ block: "center" });
    pad.element.focus({ preventScroll: true });
  }

  async function onExport() {
    exporter.disabled = true;
    try {
      const found = await post("/api/draw/export", { model: answers.chosen() }, listeners.signal);
      download(found.name, bytes(found.base64), "application/octet-stream");
    } catch (error) {
      if (!closed) wrong(error);
    } finally {
      exporter.disabled = false;
    }
  }

  async function onShare() {
    sharer.disabled = true;
    try {
      const page = await shareDrawing({ reply, state, chosen: answers.chosen(), image: await pad.image() }, listeners.signal);
      download("drawing.html", page, "text/html");
    } catch (error) {
      if (!closed) toast(inOneLine(error), "bad");
    } finally {
      sharer.disabled = false;
    }
  }

  async function onForget() {
    await applyChange(async () => {
      showState(await post("/api/draw/forget", {}, listeners.signal));
      teach.clear();
      toast("Corrections forgotten");
      askAgain();
    });
  }

  async function applyChange(work) {
    teach.busy(true);
    lastState = ""; // the state is to be shown whatever comes: a correction that is forgotten gives the old one
    try {
      await work();
    } catch (error) {
      if (!closed) wrong(error);
    } finally {
      teach.busy(false);
    }
  }

  listeners.on(connection, "change", ({ detail }) => { if (!detail.gone) watch(); });
  listeners.on(window, "pagehide", keepNow);
  onScheme(() => { why.again(); showWhy(); }, listeners.signal);
  tools.refresh(hasInk());
  showReply(null, true);
  await watch();

  return () => {
    closed = true;
    keepNow();
    clearTimeout(timer);
    clearTimeout(reading);
    clearTimeout(reasons);
    clearTimeout(asking);
    pad.close();
    listeners.stop();
  };
}

/** What the numbers in the rows are. */
const held = (state) => (state.own
  ? "Models learn from your drawings alone: no error is known until you draw others."
  : "Held-out scans: pictures of the data set that no model learned from. They are not your drawings; those are counted when you say what they are.");

const count = (n) => (n === 0 ? "Models answer" : n === 1 ? "One model answers" : `${n} models answer`);

function keyboardHint() {
  const key = (name) => h("kbd", {}, name);
  return ["Keyboard: ", key("arrows"), " move the pen, ", key("Space"), " puts it down or lifts it, ", key("Enter"),
    " goes to the answers, ", key("Escape"), " drops the stroke, ", key("Delete"), " clears."];
}
