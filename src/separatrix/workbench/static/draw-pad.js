/**
 * The paper: strokes by mouse, pen, finger or keyboard. Coordinates run from 0 to 1, y downwards.
 */
import { h, makeListeners, onPixels } from "./dom.js";
import { EXAMPLES, roundCoordinate } from "./draw-examples.js";
import { POINTS, STROKES } from "./draw-keep.js";

/** @typedef {[number, number][]} Stroke */
/** @typedef {{at: number, done: boolean}} Moment  when the pen last moved (performance.now), and whether it is lifted */

const PEN = 0.055; // of the paper's side, at the usual width
const EXPORTED = 1024; // pixels a side of an image that is saved
const PAPER = "#ffffff";
const STEP = 0.03; // a press of an arrow key
const CLOSE = 0.003; // points nearer than this to the last one add nothing
const INK = "#1a1c22";
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const KEYS =
  "Drawing paper. Arrow keys move the pen, with Shift in small steps. Space puts it down or lifts it. " +
  "Enter goes to the answers. Escape drops the stroke. Delete clears.";

/** A smooth curve through the middles of a stroke's pieces. @param {Stroke} stroke @returns {Path2D} */
function curve(stroke) {
  const path = new Path2D();
  path.moveTo(...stroke[0]);
  for (let i = 1; i < stroke.length - 1; i++) {
    const [x, y] = stroke[i];
    path.quadraticCurveTo(x, y, (x + stroke[i + 1][0]) / 2, (y + stroke[i + 1][1]) / 2);
  }
  const [x, y] = stroke[stroke.length - 1];
  path.lineTo(x + 1e-5, y); // a single point still leaves a dot
  return path;
}

/**
 * @param {{strokes: Stroke[], width: number, onInk: (strokes: Stroke[], moment: Moment) => void, onEnter: () => void,
 *   onFull: () => void, say: (words: string) => void}} options
 */
export function makePad({ strokes, width, onInk, onEnter, onFull, say }) {
  const canvas = h("canvas", {
    class: "draw-paper", tabindex: "0", role: "application", "aria-label": KEYS, data: { test: "paper" },
  });
  const context = canvas.getContext("2d");
  const listeners = makeListeners();
  const paths = new WeakMap();
  const held = new Set();
  const pen = { x: 0.5, y: 0.25, down: false };
  let before = []; // what Undo goes back to, oldest first
  let after = []; // what Redo brings back, the next one last
  let open = null; // the stroke that is being drawn
  let pointer = null;
  let box = null; // where the paper is while a pointer draws; to ask each time costs a layout
  let keyed = false; // drawing by keyboard: the pen is shown
  let frame = 0;

  const all = () => (open ? [...strokes, open] : strokes);
  const points = () => strokes.reduce((sum, stroke) => sum + stroke.length, 0);

  function paint() {
    frame = 0;
    prepare(context, canvas.width);
    context.clearRect(0, 0, 1, 1);
    if (!all().length) paintHint();
    paintStrokes(context);
    if (open) context.stroke(curve(open));
    if (keyed) paintPen();
  }

  function prepare(on, side) {
    on.setTransform(side, 0, 0, side, 0, 0);
    on.lineCap = on.lineJoin = "round";
    on.lineWidth = PEN * width;
  }

  function paintStrokes(on) {
    on.strokeStyle = INK;
    for (const stroke of strokes) {
      if (!paths.has(stroke)) paths.set(stroke, curve(stroke));
      on.stroke(paths.get(stroke));
    }
  }

  /** The drawing on white paper, as PNG. @returns {Promise<Blob>} */
  function image() {
    const copy = h("canvas", { width: EXPORTED, height: EXPORTED });
    const on = copy.getContext("2d");
    prepare(on, EXPORTED);
    on.fillStyle = PAPER;
    on.fillRect(0, 0, 1, 1);
    paintStrokes(on);
    return new Promise((resolve, reject) => {
      copy.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser made no image."))), "image/png");
    });
  }

  function paintHint() {
    context.strokeStyle = "rgb(26 28 34 / 0.09)";
    for (const stroke of EXAMPLES[0]) context.stroke(curve(stroke));
  }

  function paintPen() {
    context.beginPath();
    context.arc(pen.x, pen.y, 0.032, 0, 7);
    context.lineWidth = 0.012;
    context.strokeStyle = "#0b5cad";
    context.fillStyle = pen.down ? "#0b5cad" : "rgb(255 255 255 / 0.75)";
    context.fill();
    context.stroke();
  }

  const repaint = () => { frame ||= requestAnimationFrame(paint); };

  function notify(at, done) {
    repaint();
    onInk(all(), { at, done });
  }

  function begin(x, y, at) {
    if (strokes.length >= STROKES || points() >= POINTS) return onFull();
    open = [[roundCoordinate(x), roundCoordinate(y)]];
    notify(at, false);
  }

  function extend(x, y) {
    const [lastX, lastY] = open[open.length - 1];
    const [nextX, nextY] = [roundCoordinate(x), roundCoordinate(y)];
    if (Math.hypot(nextX - lastX, nextY - lastY) < CLOSE) return false;
    if (points() + open.length >= POINTS) return false;
    open.push([nextX, nextY]);
    return true;
  }

  function lift(at) {
    if (!open) return;
    const finished = open;
    open = null;
    put([...strokes, finished], at);
  }

  /** Other strokes in place of those there are; Undo goes back. */
  function put(next, at = performance.now()) {
    before = [...before.slice(-99), strokes];
    after = [];
    strokes = next;
    notify(at, true);
  }

  function drop() {
    open = null;
    pen.down = false;
    pointer = null;
    held.clear();
  }

  const place = (event) => [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];

  listeners.on(canvas, "pointerdown", (event) => {
    if (pointer !== null || event.button !== 0) return;
    lift(event.timeStamp); // a stroke by keyboard that was left open
    pen.down = keyed = false;
    box = canvas.getBoundingClientRect();
    begin(...place(event), event.timeStamp);
    if (!open) return;
    pointer = event.pointerId;
    canvas.setPointerCapture(pointer);
  });
  listeners.on(canvas, "pointermove", (event) => {
    if (event.pointerId !== pointer || !open) return;
    const parts = event.getCoalescedEvents?.() ?? [];
    let moved = false;
    for (const part of parts.length ? parts : [event]) moved = extend(...place(part)) || moved;
    if (moved) notify(event.timeStamp, false);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    listeners.on(canvas, name, (event) => {
      if (event.pointerId !== pointer) return;
      pointer = null;
      [pen.x, pen.y] = place(event).map(roundCoordinate);
      box = null;
      lift(event.timeStamp);
    });
  }
  listeners.on(canvas, "contextmenu", (event) => event.preventDefault()); // a long touch draws

  function move(event) {
    held.add(event.key);
    const step = event.shiftKey ? STEP / 4 : STEP;
    for (const key of held) { // two arrows at once: a slant
      pen.x = roundCoordinate(pen.x + step * ARROWS[key][0]);
      pen.y = roundCoordinate(pen.y + step * ARROWS[key][1]);
    }
    if (pen.down && open && extend(pen.x, pen.y)) notify(event.timeStamp, false);
    else repaint();
  }

  function toggle(event) {
    if (event.repeat) return;
    pen.down = !pen.down;
    if (pen.down) begin(pen.x, pen.y, event.timeStamp);
    else lift(event.timeStamp);
    pen.down = open !== null;
    say(pen.down ? "Pen down" : "Pen up");
    repaint();
  }

  const actions = {
    " ": toggle,
    Enter: (event) => { pen.down = false; lift(event.timeStamp); onEnter(); },
    Escape: (event) => { const had = open; drop(); if (had) notify(event.timeStamp, true); repaint(); },
    Delete: () => clear(),
    Backspace: () => clear(),
  };

  listeners.on(canvas, "keydown", (event) => {
    const control = event.ctrlKey || event.metaKey;
    if (control && (event.key.toLowerCase() === "y" || (event.shiftKey && event.key.toLowerCase() === "z"))) redo();
    else if (control && event.key.toLowerCase() === "z") undo();
    else if (event.ctrlKey || event.metaKey || event.altKey || pointer !== null) return;
    else if (Object.hasOwn(ARROWS, event.key)) move(event);
    else if (Object.hasOwn(actions, event.key)) actions[event.key](event);
    else return;
    event.preventDefault();
    keyed = true;
    repaint();
  });
  listeners.on(canvas, "keyup", (event) => held.delete(event.key));
  listeners.on(canvas, "blur", () => { held.clear(); pen.down = keyed = false; lift(performance.now()); repaint(); });
  listeners.on(canvas, "focus", () => { keyed = pointer === null && canvas.matches(":focus-visible"); repaint(); });

  function clear() {
    if (!all().length) return;
    drop();
    put([]);
  }

  function undo() {
    const half = open;
    drop();
    if (half) return notify(performance.now(), true);
    if (!before.length && !strokes.length) return;
    after.push(strokes);
    if (before.length) strokes = before.pop();
    else strokes = strokes.slice(0, -1); // strokes from before a reload
    notify(performance.now(), true);
  }

  function redo() {
    drop();
    if (!after.length) return;
    before.push(strokes);
    strokes = after.pop();
    notify(performance.now(), true);
  }

  const sized = onPixels(canvas, () => {
    const side = Math.round(canvas.clientWidth * devicePixelRatio);
    if (side && canvas.width !== side) canvas.width = canvas.height = side;
    paint();
  });
  for (const name of ["scroll", "resize"]) listeners.on(window, name, () => { if (box) box = canvas.getBoundingClientRect(); });

  return {
    element: canvas,
    strokes: all,
    clear,
    undo,
    redo,
    image,
    setWidth: (value) => { width = value; notify(performance.now(), true); },
    put: (next) => { drop(); put(next); },
    drawing: () => open !== null,
    canUndo: () => before.length > 0 || all().length > 0,
    canRedo: () => after.length > 0,
    close: () => { listeners.stop(); sized.disconnect(); cancelAnimationFrame(frame); },
  };
}
