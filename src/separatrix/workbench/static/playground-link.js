/**
 * A scene as the query of a link, and back.
 *
 * Points that a generator or a data set gave are named by it; others travel in the link: for each two whole numbers
 * of 16 bits, in steps of a power of ten above the least coordinate, and one byte for the class. `roundPoints` puts
 * points on those steps, so that a link gives exactly what is on the page. Where a few points are so far from the others
 * that the steps would merge these, the coordinates are float64, and stay as they are.
 */
import { base64, bytes } from "./api.js";

const STEPS = 65_535;
const HEAD = 18; // bytes: decimals of x and y, least x and y as whole numbers of steps
const LARGEST = 1e9; // coordinate that the server takes
const EXACT = 127; // in place of decimals: coordinates are float64
const STEPS_OF_MOST = 1000; // the inner 80 % of the values must have as many steps
const MOST_CLASSES = 20;
const KINDS = { log: Number, linear: Number, integer: Number, switch: (text) => text === "1", choice: String };

/** Decimals such that a length has at most as many steps as a link can count. */
export const decimalsFor = (length) => Math.max(-9, Math.min(12, Math.floor(Math.log10(STEPS / Math.max(length, 1e-9)))));

/** Decimals for a coordinate: few where all values are exact with few. */
function decimals(values) {
  const low = values.reduce((a, b) => Math.min(a, b), Infinity), high = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const exact = Math.floor(15 - Math.log10(Math.max(1, Math.abs(low), Math.abs(high)))); // what a double can hold
  const most = Math.min(exact, decimalsFor(high - low + 1e-9));
  for (let few = Math.min(0, most); few < most; few++) if (values.every((value) => onStep(value, few) === value)) return few;
  return isCoarse(values, 10 ** -most) ? EXACT : most;
}

/** Whether steps are large against the distances of most values, as where one is far away from all others. */
function isCoarse(values, step) {
  const sorted = Float64Array.from(values).sort();
  const inner = sorted[Math.floor(0.9 * (sorted.length - 1))] - sorted[Math.ceil(0.1 * (sorted.length - 1))];
  return inner > 0 && step > inner / STEPS_OF_MOST;
}

/** The nearest value with so many decimals. */
export const onStep = (value, places) => (places === EXACT ? value : places >= 0 ? Number(value.toFixed(places)) : Math.round(value / 10 ** -places) * 10 ** -places);

/** Points on the steps of a link. @param {import("./playground-scene.js").Point[]} points */
export function roundPoints(points) {
  if (!points.length) return points;
  const [dx, dy] = [0, 1].map((axis) => decimals(points.map((point) => point[axis])));
  return points.map(([x, y, c]) => [onStep(x, dx), onStep(y, dy), c]);
}

/** @param {import("./playground-scene.js").Point[]} points @returns {string} base64url */
export function pack(points) {
  const axes = [0, 1].map((axis) => stepsOf(points.map((point) => point[axis])));
  const { starts, size } = layout(axes);
  const data = new DataView(new ArrayBuffer(HEAD + size * points.length));
  axes.forEach(({ places, least }, axis) => {
    data.setInt8(axis, places);
    data.setFloat64(2 + 8 * axis, least);
  });
  points.forEach((point, row) => {
    const at = HEAD + size * row;
    axes.forEach(({ places, steps, least }, axis) => {
      if (places === EXACT) data.setFloat64(at + starts[axis], point[axis]);
      else data.setUint16(at + starts[axis], Math.min(STEPS, steps[row] - least));
    });
    data.setUint8(at + size - 1, point[2]);
  });
  return base64(new Uint8Array(data.buffer)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The values of an axis as whole numbers of steps, and the least of them. */
function stepsOf(values) {
  const places = values.length ? decimals(values) : 0;
  if (places === EXACT) return { places, steps: [], least: 0 };
  const steps = values.map((value) => (places >= 0 ? Math.round(value * 10 ** places) : Math.round(value / 10 ** -places)));
  return { places, steps, least: steps.reduce((a, b) => Math.min(a, b), steps[0] ?? 0) };
}

/** Where the coordinates of a point begin among its bytes, and how many it has. */
function layout(axes) {
  const [across, up] = axes.map(({ places }) => (places === EXACT ? 8 : 2));
  return { starts: [0, across], size: across + up + 1 };
}

/** @param {string} text @param {number} classes how many there are */
export function unpack(text, classes) {
  const raw = readOr(() => bytes(text.replaceAll("-", "+").replaceAll("_", "/")), "its points are damaged");
  const data = new DataView(raw.buffer);
  require(raw.length >= HEAD, "its points are cut off");
  const axes = [0, 1].map((axis) => ({ places: data.getInt8(axis), least: data.getFloat64(2 + 8 * axis) }));
  require(axes.every(({ places, least }) => (places === EXACT || Math.abs(places) <= 12) && Number.isSafeInteger(least)), "its points are damaged");
  const { starts, size } = layout(axes), count = (raw.length - HEAD) / size;
  require(Number.isInteger(count) && count >= 0 && count <= 5000, "its points are cut off");
  return Array.from({ length: count }, (_, row) => {
    const begin = HEAD + size * row, label = data.getUint8(begin + size - 1);
    require(label < classes, "a point has a class that is not there");
    const places = axes.map((axis, i) => (axis.places === EXACT ? data.getFloat64(begin + starts[i]) : fromSteps(axis.least + data.getUint16(begin + starts[i]), axis.places)));
    require(places.every((value) => Math.abs(value) <= LARGEST), "its points are damaged");
    return [...places, label];
  });
}

const fromSteps = (steps, places) => (places >= 0 ? Number((steps / 10 ** places).toFixed(places)) : steps * 10 ** -places);

/** The query that stands for a scene. @param {import("./playground-scene.js").Scene} scene */
export function encode(scene) {
  const query = new URLSearchParams({ model: scene.model });
  for (const [name, value] of Object.entries(scene.parameters)) {
    query.set(`p.${name}`, typeof value === "boolean" ? String(Number(value)) : String(value));
  }
  if (scene.rule !== "predict") query.set("rule", scene.rule);
  if (scene.standardise) query.set("standardise", "1");
  if (scene.source) putSource(query, scene.source);
  else {
    query.set("classes", JSON.stringify(scene.classes));
    query.set("names", JSON.stringify(scene.names));
    query.set("points", pack(scene.points));
  }
  if (!scene.source || String(scene.window) !== String(scene.home)) {
    query.set("view", scene.window.map((side) => Number(side.toPrecision(8))).join(","));
  }
  if (scene.share) query.set("test", String(scene.share));
  if (scene.out.length) query.set("out", scene.out.join(","));
  if (scene.panes.length) query.set("beside", JSON.stringify(scene.panes));
  if (scene.step !== null) query.set("step", String(scene.step));
  return query.toString();
}

function putSource(query, source) {
  if (source.generator) query.set("make", [source.generator, source.n, source.noise, source.seed].join(","));
  else {
    query.set("data", source.data);
    query.set("columns", JSON.stringify(source.columns));
  }
}

/**
 * The scene of a query, checked; throws an Error with the reason if it is not valid.
 *
 * @param {URLSearchParams} query
 * @param {any} schema
 */
export function decode(query, schema) {
  const found = { model: query.get("model"), rule: query.get("rule") ?? "predict", standardise: query.get("standardise") === "1" };
  const kind = schema.models.find(({ key }) => key === found.model);
  require(kind, found.model ? `there is no model ${quote(found.model)}` : "it names no model");
  require(schema.rules.some(({ value }) => value === found.rule), `there is no rule ${quote(found.rule)}`);
  found.values = Object.fromEntries(kind.parameters.filter(({ name }) => query.has(`p.${name}`)).map((one) => [one.name, valueOf(one, query.get(`p.${one.name}`))]));
  found.source = sourceOf(query, schema);
  if (!found.source) Object.assign(found, ownPoints(query));
  found.view = query.has("view") ? windowOf(query.get("view")) : null;
  require(found.source || found.view, "it names no points");
  found.share = query.has("test") ? Number(query.get("test")) : 0;
  require(found.share >= 0 && found.share <= 0.5, "its share of test points is damaged");
  found.out = query.has("out") ? query.get("out").split(",").map(Number) : [];
  require(found.out.length <= 5000 && found.out.every((row) => Number.isInteger(row) && row >= 0 && row < 5000), "the rows it leaves out are damaged");
  found.panes = query.has("beside") ? panesOf(query.get("beside"), schema) : [];
  found.step = query.has("step") ? Number(query.get("step")) : null;
  require(found.step === null || (Number.isInteger(found.step) && found.step >= 0), "its step is no number");
  return found;
}

/** Models beside the first, checked as it is. */
function panesOf(text, schema) {
  const list = readOr(() => JSON.parse(text), "its other models are damaged");
  require(Array.isArray(list) && list.length <= 3, "its other models are damaged");
  return list.map((pane) => {
    const kind = schema.models.find(({ key }) => key === pane?.model);
    require(kind && typeof pane.values === "object" && pane.values && schema.rules.some(({ value }) => value === pane.rule), "its other models are damaged");
    const values = Object.fromEntries(kind.parameters.map((one) => {
      const given = pane.values[one.name] ?? one.default;
      return [one.name, valueOf(one, typeof given === "boolean" ? String(Number(given)) : String(given))];
    }));
    return { model: kind.key, values, rule: pane.rule, standardise: pane.standardise === true };
  });
}

function valueOf(parameter, text) {
  const value = KINDS[parameter.kind](text);
  const fits = parameter.kind === "switch" || (parameter.kind === "choice"
    ? parameter.choices.some((one) => one.value === value)
    : Number.isFinite(value) && value >= parameter.least && value <= parameter.most && (parameter.kind !== "integer" || Number.isInteger(value)));
  require(fits, `${quote(text)} is no value of ${parameter.title}`);
  return value;
}

function sourceOf(query, schema) {
  if (query.has("make")) return generatorOf(query.get("make"), schema.generators);
  if (!query.has("data")) return null;
  const source = { data: query.get("data"), columns: words(query.get("columns"), 2, 2) };
  const there = schema.data.find(({ name }) => name === source.data);
  require(there && source.columns.every((column) => there.columns.includes(column)), `there are no such columns of ${quote(source.data)}`);
  return source;
}

function generatorOf(text, generators) {
  const [generator, ...rest] = text.split(",");
  const [n, noise, seed] = rest.map(Number);
  const there = generators.find(({ key }) => key === generator);
  require(there, `there is no generator ${quote(generator)}`);
  require(rest.length === 3 && Number.isInteger(n) && n >= there.least && n <= there.most, "its number of points is damaged");
  require(noise >= 0 && noise <= 2 && Number.isInteger(seed) && seed >= 0 && seed < 2 ** 32, "its generator is damaged");
  return { generator, n, noise, seed };
}

function ownPoints(query) {
  require(query.has("points"), "it names no points");
  const classes = words(query.get("classes"), 1, MOST_CLASSES);
  require(new Set(classes).size === classes.length, "two of its classes have one name");
  return { classes, names: words(query.get("names"), 2, 2), points: unpack(query.get("points"), classes.length) };
}

/** A JSON list of so many words. */
function words(text, least, most) {
  const list = readOr(() => JSON.parse(text ?? "null"), "its names are damaged");
  require(Array.isArray(list) && list.length >= least && list.length <= most && list.every((word) => typeof word === "string"), "its names are damaged");
  return list;
}

function windowOf(text) {
  const sides = text.split(",").map(Number);
  require(sides.length === 4 && sides.every(Number.isFinite) && sides[0] < sides[1] && sides[2] < sides[3], "its view is damaged");
  return sides;
}

const quote = (text) => `"${String(text).slice(0, 40)}"`;

function require(holds, reason) {
  if (!holds) throw new Error(reason);
}

/** What `read` gives; where it cannot, the reason in words instead of the browser's. */
function readOr(read, reason) {
  try {
    return read();
  } catch {
    throw new Error(reason);
  }
}
