/**
 * The drawing and the chosen model of this tab, kept by the browser: a refresh loses nothing.
 */

/** What the server takes. */
export const STROKES = 200;
export const POINTS = 20_000;

const KEPT = "separatrix-draw";

/** What was kept, or empty paper. @returns {{strokes: [number, number][][], chosen: string}} */
export function restore() {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEPT) ?? "{}");
    return { strokes: checkStrokes(found?.strokes), chosen: typeof found?.chosen === "string" ? found.chosen : "" };
  } catch {
    return { strokes: [], chosen: "" }; // storage may be switched off, or hold something else
  }
}

/** @param {[number, number][][]} strokes @param {string} chosen the key of a model */
export function save(strokes, chosen) {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify({ strokes, chosen }));
  } catch {
    // then a refresh begins with empty paper
  }
}

/** Strokes that were kept, if they are strokes. @param {any} kept @returns {[number, number][][]} */
function checkStrokes(kept) {
  const number = (value) => typeof value === "number" && value >= 0 && value <= 1;
  const point = (value) => Array.isArray(value) && value.length === 2 && value.every(number);
  const stroke = (value) => Array.isArray(value) && value.length > 0 && value.every(point);
  return Array.isArray(kept) && kept.length <= STROKES && kept.every(stroke) && kept.flat().length <= POINTS ? kept : [];
}
