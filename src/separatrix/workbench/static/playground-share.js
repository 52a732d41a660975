/**
 * A scene as one file: a page that opens anywhere without a server, or an SVG.
 */
import { classColour, plain } from "./colours.js";
import { words } from "./controls.js";
import { askAbout } from "./playground-ask.js";
import { ticks } from "./playground-axes.js";
import { cornersOf } from "./playground-marks.js";
import { ellipseLines } from "./playground-overlay.js";
import { escaped, pageFile } from "./share-file.js";

const MODULES = ["share-page", "plane", "playground-picture", "playground-overlay", "playground-axes", "playground-marks", "playground-points", "playground-legend", "boundaries", "contours", "colours", "dom", "api", "controls"];
const LARGEST = 2_000_000; // bytes of a page
const MOST_STEPS = 400; // of a linear model
const MOST_PICTURES = 40; // of a kernel machine
const COARSE = 60; // cells along a side of a step's picture

/** Steps for the page: weights of a linear model, pictures of a kernel machine, at most as many as fit. */
async function stepsOf(scene, signal) {
  if (!scene.kind.steps || scene.rule !== "predict" || (scene.kind.steps === "pairs" && scene.present() > 2)) return null;
  let found;
  try {
    found = await askAbout(scene, "steps", {}, signal);
  } catch {
    return null; // such as a fit that fails: the page has none then
  }
  const last = found.steps.length - 1, most = found.kernel ? MOST_PICTURES : MOST_STEPS;
  const chosen = [...new Set(Array.from({ length: Math.min(last, most) + 1 }, (_, i) => Math.round((i * last) / Math.max(1, Math.min(last, most)))))];
  const steps = [];
  for (const number of chosen) {
    const { W, b, message, row, other, support } = found.steps[number];
    const picture = found.kernel ? await askAbout(scene, "step", { window: scene.view, grid: COARSE, step: number }, signal) : null;
    steps.push({ number, W, b, message, row, other, support: picture?.support ?? support ?? [], picture });
  }
  return { steps, last, labels: found.labels, margins: scene.kind.steps !== "mistakes" };
}

/** The value of a parameter as the page says it. */
function inWords({ kind, choices }, value) {
  if (kind === "switch") return value ? "yes" : "no";
  return kind === "choice" ? choices.find((one) => one.value === value)?.title ?? String(value) : words(value);
}

/** What the page shows. */
export async function sceneData(scene, answer, story, signal) {
  const { kind, parameters } = scene;
  const named = kind.parameters.filter(({ name }) => name in parameters).map((one) => [one.title, inWords(one, parameters[one.name])]);
  const { milliseconds, warnings, command, ...shown } = answer;
  return {
    title: story?.title ?? kind.title, text: story?.text ?? kind.caption, model: kind.title, parameters: named,
    points: scene.points, classes: scene.classes, names: scene.names, view: answer.window, test: scene.test, out: scene.out, equal: scene.equalAxes,
    answer: shown, warnings, steps: await stepsOf(scene, signal),
  };
}

/** The page as text; without the steps where they would make it too large. */
export async function sharePage(data, signal) {
  const page = (content) => pageFile({ title: data.title, data: content, modules: MODULES, styles: ["playground.css"], kind: "page-playground" }, signal);
  const whole = await page(data);
  return new TextEncoder().encode(whole).length < LARGEST ? whole : page({ ...data, steps: null });
}

/** The plane as SVG: lines and marks as shapes, tints as one small picture. @param {import("./plane.js").Plane} plane */
export function asSvg(plane) {
  const { width, height, box: { left, top, width: wide, height: high }, shown } = plane;
  const { ground, ink, quiet, line } = plain();
  const parts = [], put = (text) => parts.push(text);
  const { picture } = shown;
  if (picture) {
    const [x0, x1, y0, y1] = picture.window, [ax, ay] = plane.pixel(x0, y1), [bx, by] = plane.pixel(x1, y0);
    const image = (canvas) => `<image x="${n(ax)}" y="${n(ay)}" width="${n(bx - ax)}" height="${n(by - ay)}" preserveAspectRatio="none" href="${canvas.toDataURL()}"/>`;
    put(image(picture.tint));
    if (picture.hatched) put(`<mask id="m">${image(whitened(picture.hatched))}</mask><pattern id="p" width="9" height="9" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V9" stroke="${quiet}"/></pattern><rect x="${n(ax)}" y="${n(ay)}" width="${n(bx - ax)}" height="${n(by - ay)}" fill="url(#p)" mask="url(#m)"/>`);
    const at = (x, y) => [ax + (x / picture.grid) * (bx - ax), by - (y / picture.grid) * (by - ay)];
    const path = (lines) => lines.map((one) => one.flatMap((_, i) => (i % 2 ? [] : [`${i ? "L" : "M"}${at(one[i], one[i + 1]).map(n).join(" ")}`])).join("")).join("");
    const stroke = (lines, colour, thick, dash) => { if (lines.length) put(`<path d="${path(lines)}" fill="none" stroke="${colour}" stroke-width="${thick}"${dash ? ` stroke-dasharray="${dash}"` : ""}/>`); };
    stroke(picture.idle, quiet, 1, "1.5 4");
    stroke(picture.margins, quiet, 1.25, "6 4");
    stroke(picture.lines, ink, 2, "");
    for (const { colour, width: thick, places } of picture.ellipses.flatMap((one) => ellipseLines(plane, one))) {
      put(`<polyline points="${places.map((at_) => at_.map(n).join(",")).join(" ")}" fill="none" stroke="${colour}" stroke-width="${thick}"/>`);
    }
  }
  shown.points.forEach(([x, y, c], row) => {
    const [px, py] = plane.pixel(x, y), corners = cornersOf(c), size = shown.points.length > 600 ? 3.2 : 4.6;
    const hollow = shown.test.has(row), style = `fill="${hollow ? ground : classColour(c)}" stroke="${hollow ? classColour(c) : ground}" stroke-width="${hollow ? 2 : 1.2}"${shown.out.has(row) ? ' opacity="0.25"' : ""}`;
    put(corners ? `<polygon points="${corners.map(([u, v]) => `${n(px + size * u)},${n(py + size * v)}`).join(" ")}" ${style}/>` : `<circle cx="${n(px)}" cy="${n(py)}" r="${size}" ${style}/>`);
    if (shown.support.has(row) && !shown.out.has(row)) put(`<circle cx="${n(px)}" cy="${n(py)}" r="${size + 3.2}" fill="none" stroke="${ink}" stroke-width="1.3"/>`);
    if (shown.wrong.has(row) && !shown.out.has(row)) put(`<path d="M${n(px - size - 2)} ${n(py - size - 2)}l${2 * size + 4} ${2 * size + 4}m0 ${-2 * size - 4}l${-2 * size - 4} ${2 * size + 4}" stroke="${ink}" stroke-width="1.6"/>`);
  });
  const [x0, x1, y0, y1] = shown.window;
  const axes = [
    ...ticks(x0, x1, wide / 75).map((tick) => `<text x="${n(plane.pixel(tick, y0)[0])}" y="${n(top + high + 18)}" text-anchor="middle">${tick}</text>`),
    ...ticks(y0, y1, high / 70).map((tick) => `<text x="${n(left - 7)}" y="${n(plane.pixel(x0, tick)[1] + 4)}" text-anchor="end">${tick}</text>`),
    `<text x="${n(left + wide / 2)}" y="${n(top + high + 38)}" text-anchor="middle" font-weight="600">${escaped(shown.names[0])}</text>`,
    `<text transform="translate(14 ${n(top + high / 2)}) rotate(-90)" text-anchor="middle" font-weight="600">${escaped(shown.names[1])}</text>`,
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12">
<rect width="${width}" height="${height}" fill="${ground}"/><clipPath id="c"><rect x="${n(left)}" y="${n(top)}" width="${n(wide)}" height="${n(high)}"/></clipPath>
<g clip-path="url(#c)">${parts.join("\n")}</g><rect x="${n(left)}" y="${n(top)}" width="${n(wide)}" height="${n(high)}" fill="none" stroke="${line}"/><g fill="${ink}">${axes.join("")}</g></svg>
`;
}

/** The same cells in white: what a mask lets through. */
function whitened(canvas) {
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const context = copy.getContext("2d");
  context.drawImage(canvas, 0, 0);
  Object.assign(context, { globalCompositeOperation: "source-in", fillStyle: "#fff" });
  context.fillRect(0, 0, copy.width, copy.height);
  return copy;
}

const n = (value) => Number(value.toFixed(2));
