/**
 * What the playground is about: points, classes, model. It notifies listeners of changes and can undo them.
 *
 * Points are never changed in place: every edit makes a new list, so that a kept list stays as it was.
 */
import { decimalsFor, onStep, roundPoints } from "./playground-link.js";

/**
 * @typedef {[number, number, number]} Point x, y and the number of its class
 * @typedef {[number, number, number, number]} Window x0, x1, y0, y1
 * @typedef {"points"|"view"|"model"|"class"|"step"|"restore"} Change restore: model, sliders or panes came from elsewhere
 */

export const MOST_POINTS = 2000; // by hand
export const MOST_CLASSES = 5; // by hand
export const LETTERS = ["a", "b", "c", "d", "e"];
const KEPT = 200; // edits that can be undone
const SAME_EDIT = 900; // ms in which edits with one name count as one
const KINDS = ["points", "classes", "names", "window", "home", "source", "notes", "model", "values", "rule", "standardise", "share", "out", "panes"];
const MODEL_KINDS = ["model", "values", "rule", "standardise", "share", "out", "panes"];
const LOPSIDED = 12; // ranges of the two features may differ so much before their axes get scales of their own

export class Scene {
  constructor(schema) {
    this.schema = schema;
    /** @type {Point[]} */
    this.points = [];
    this.classes = LETTERS.slice(0, 3);
    this.names = ["x1", "x2"];
    /** @type {Window} */
    this.window = [-1, 1, -1, 1];
    this.home = this.window; // what the server proposed
    this.source = null; // the request that made the points, until one is edited
    this.notes = [];
    this.model = schema.models.some(({ key }) => key === "svm") ? "svm" : schema.models[0].key;
    this.values = Object.fromEntries(schema.models.map(({ key, parameters }) => [key, defaults(parameters)]));
    this.rule = "predict";
    this.standardise = false;
    this.share = 0; // of the points that are held out for testing
    this.out = []; // rows that are left out
    this.panes = []; // other models beside this one: {model, values, rule, standardise}
    this.aspect = 1; // of the plane on the screen, width by height
    this.chosen = 0;
    this.step = null; // which step of learning is shown; null: the fitted model
    this.past = [];
    this.future = [];
    this.listeners = [];
  }

  /** @param {(change: Change) => void} listener */
  onChange(listener) { this.listeners.push(listener); }

  /** @param {Change} change */
  notify(change) { for (const listener of this.listeners) listener(change); }

  /** Remember how things are, before an edit. Edits of the same name in quick succession count as one. */
  keep(name = "") {
    const again = name && this.kept?.name === name && performance.now() - this.kept.at < SAME_EDIT;
    this.kept = { name, at: performance.now() };
    if (again) return;
    this.past = [...this.past.slice(1 - KEPT), this.snapshot()];
    this.future = [];
  }

  snapshot() { return Object.fromEntries(KINDS.map((kind) => [kind, this[kind]])); }

  undo() { this.travel(this.past, this.future); }

  redo() { this.travel(this.future, this.past); }

  travel(from, to) {
    if (!from.length) return;
    to.push(this.snapshot());
    this.kept = null;
    this.put(from.pop());
  }

  /** Take over other points, classes, names or a window. */
  put(changes) {
    const points = changes.points && changes.points !== this.points;
    Object.assign(this, changes);
    if (points && !changes.out) this.out = [];
    if (MODEL_KINDS.some((kind) => kind in changes)) this.notify("restore");
    this.chosen = Math.min(this.chosen, this.classes.length - 1);
    this.notify("points");
  }

  /** Edited points: they are the person's own now, as exact as a link can hold them. */
  edit(points) {
    this.put({ points: roundPoints(points), source: null, notes: [] });
  }

  /** One value of the model's parameters; quick changes of one count as one edit. */
  setValue(name, value) {
    this.keep(`slider ${this.model} ${name}`);
    this.values = { ...this.values, [this.model]: { ...this.values[this.model], [name]: value } };
    this.notify("model");
  }

  /** Another model, rule, share of test points, or rows that are left out. */
  set(changes) {
    this.keep(`set ${Object.keys(changes)}`);
    Object.assign(this, changes);
    if ("model" in changes) this.step = null;
    this.notify("model");
  }

  /** Rows that are held out: by the place of each point, so that an edit does not move the others. */
  get test() {
    const of = [this.share, this.out, this.points];
    if (!this.held || of.some((part, i) => part !== this.held.of[i])) this.held = { of, rows: this.share ? this.drawTest() : [] };
    return this.held.rows;
  }

  drawTest() {
    const out = new Set(this.out);
    return this.points.flatMap((point, row) => (!out.has(row) && chance(point) < this.share ? [row] : []));
  }

  /** The window as the plane shows it: one unit has the same length on both axes, unless the ranges differ too much. */
  get view() { return sameUnits(this.window, this.aspect); }

  /** Whether a distance on the plane is one in the data. */
  get equalAxes() { return !lopsided(this.window, this.aspect); }

  /** A place as exact as a link can hold it. */
  place(x, y) {
    const [x0, x1, y0, y1] = this.view;
    const to = (value, low, high) => onStep(Math.min(high, Math.max(low, value)), decimalsFor(high - low));
    return [to(x, x0, x1), to(y, y0, y1)];
  }

  add(places, label = this.chosen) {
    const free = Math.max(0, MOST_POINTS - this.points.length);
    this.edit([...this.points, ...places.slice(0, free).map(([x, y]) => [...this.place(x, y), label])]);
    return free >= places.length;
  }

  move(row, x, y) { this.edit(this.points.map((point, i) => (i === row ? [...this.place(x, y), point[2]] : point))); }

  remove(rows) {
    const gone = new Set(rows);
    this.edit(this.points.filter((_, i) => !gone.has(i)));
  }

  setWindow(window) {
    this.window = window;
    this.notify("view");
  }

  choose(label) {
    if (label >= this.classes.length) return;
    this.chosen = label;
    this.notify("class");
  }

  /** How many classes have points. */
  present() {
    if (this.counted?.points !== this.points) this.counted = { points: this.points, classes: new Set(this.points.map((point) => point[2])).size };
    return this.counted.classes;
  }

  /** The window around all points. @returns {Window} */
  around() {
    if (!this.points.length) return this.home;
    return [...sideOf(this.points.map((point) => point[0])), ...sideOf(this.points.map((point) => point[1]))];
  }

  /** The model's part of the schema. */
  get kind() { return this.schema.models.find(({ key }) => key === this.model); }

  /** Parameters that count beside the others. */
  get parameters() {
    const values = this.values[this.model];
    return Object.fromEntries(this.kind.parameters.filter((one) => counts(one, values)).map(({ name }) => [name, values[name]]));
  }

  /** The points as the server reads them; kept while they and the names of the classes are the same. */
  get labelled() {
    const { points, classes } = this;
    if (this.sent?.points !== points || this.sent.classes !== classes) this.sent = { points, classes, rows: points.map(([x, y, c]) => [x, y, classes[c]]), key: crypto.randomUUID(), known: false };
    return this.sent.rows;
  }

  /** What all questions to the server share. */
  request() {
    return {
      points: this.labelled,
      model: this.model,
      parameters: this.parameters,
      rule: this.rule,
      standardise: this.standardise,
      test: this.test,
      out: this.out,
    };
  }
}

/** A number from 0 to 1 that a point's place decides. */
function chance([x, y]) {
  let mixed = 2166136261;
  for (const letter of `${x},${y}`) mixed = Math.imul(mixed ^ letter.charCodeAt(0), 16777619);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 2246822519);
  return ((mixed ^ (mixed >>> 13)) >>> 0) / 2 ** 32;
}

function lopsided([x0, x1, y0, y1], aspect) {
  const ratio = (x1 - x0) / (y1 - y0) / aspect;
  return ratio > LOPSIDED || ratio < 1 / LOPSIDED;
}

/** The least window around another, of the shape of the plane. */
export function sameUnits(window, aspect) {
  if (lopsided(window, aspect)) return window;
  const [x0, x1, y0, y1] = window;
  const tall = Math.max(y1 - y0, (x1 - x0) / aspect), wide = tall * aspect;
  const [cx, cy] = [(x0 + x1) / 2, (y0 + y1) / 2];
  return [cx - wide / 2, cx + wide / 2, cy - tall / 2, cy + tall / 2];
}

const defaults = (parameters) => Object.fromEntries(parameters.map((one) => [one.name, one.default]));

/** Whether a parameter means anything beside these values. */
export const counts = (parameter, values) =>
  Object.entries(parameter.when ?? {}).every(([name, wanted]) => wanted.includes(values[name]));

function sideOf(values) {
  const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
  const margin = high > low ? 0.12 * (high - low) : Math.max(1, Math.abs(low) * 0.1);
  return [low - margin, high + margin];
}

/** Points, classes and window as the server sent them. */
export function fromServer(answer, source) {
  const seen = [...new Set(answer.points.map((point) => point[2]))].sort();
  const spare = LETTERS.filter((letter) => !seen.includes(letter)).slice(0, Math.max(0, 2 - seen.length));
  const classes = [...seen, ...spare];
  const place = new Map(classes.map((name, index) => [name, index]));
  return {
    points: answer.points.map(([x, y, label]) => [x, y, place.get(label)]),
    classes,
    names: answer.names,
    window: answer.window,
    home: answer.window,
    source,
    notes: answer.notes ?? [],
  };
}
