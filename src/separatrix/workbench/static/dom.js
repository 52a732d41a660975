/**
 * Elements without markup: every word reaches the page as text, so no name can be parsed as code.
 */

/**
 * @typedef {Object} Attributes
 * @property {string} [class]
 * @property {Record<string, (event: any) => void>} [on] listeners by event
 * @property {Record<string, string>} [data] data-* attributes
 * @property {Record<string, string|number>} [style] properties, set one by one
 */

/**
 * Make an element.
 *
 * @param {string} tag
 * @param {Attributes & Record<string, any>} [attributes] true: there without a value; false, null: not there
 * @param {...(Node|string|number|null|undefined|false|Array<any>)} children
 * @returns {any}
 */
export function h(tag, attributes = {}, ...children) {
  return assemble(document.createElement(tag), attributes, children);
}

/** The same for a part of an SVG. */
export function svg(tag, attributes = {}, ...children) {
  return assemble(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function assemble(element, { on, data, style, ...attributes }, children) {
  for (const [name, listener] of Object.entries(on ?? {})) element.addEventListener(name, listener);
  for (const [name, value] of Object.entries(data ?? {})) element.dataset[name] = value;
  for (const [name, value] of Object.entries(style ?? {})) element.style.setProperty(name, String(value));
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter(present).map(asNode));
  return element;
}

const present = (child) => child !== null && child !== undefined && child !== false;
const asNode = (child) => (child instanceof Node ? child : document.createTextNode(String(child)));

/**
 * Put other children into an element.
 *
 * @param {Element} element
 * @param {...any} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(present).map(asNode));
}

/** Put other words into an element that has only words, where they differ: a page that changes less is laid out faster. */
export function setText(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

/** A new name for an id, so that labels find what they name. */
let names = 0;
export const freshId = (word) => `${word}-${++names}`;

/**
 * Call listeners until `stop` is called.
 *
 * @returns {{on: (target: EventTarget, name: string, listener: any, options?: any) => void, stop: () => void, signal: AbortSignal}}
 */
export function makeListeners() {
  const controller = new AbortController();
  return {
    on: (target, name, listener, options = {}) =>
      target.addEventListener(name, listener, { ...options, signal: controller.signal }),
    stop: () => controller.abort(),
    signal: controller.signal,
  };
}

/**
 * Told when a canvas has another number of the screen's own pixels: another size, or another zoom.
 *
 * @param {HTMLCanvasElement} canvas @param {() => void} listener @returns {ResizeObserver}
 */
export function onPixels(canvas, listener) {
  const observer = new ResizeObserver(listener);
  try {
    observer.observe(canvas, { box: "device-pixel-content-box" });
  } catch {
    observer.observe(canvas); // not every browser counts those
  }
  return observer;
}

/** A file for the person: text or bytes under a name. */
export function download(name, content, type = "text/plain;charset=utf-8") {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
