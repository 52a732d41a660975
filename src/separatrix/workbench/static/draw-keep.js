/**
 * The drawing and the chosen model of this tab, kept by the browser: a refresh loses nothing.
 */

/** What the server takes. */
export const STROKES = 200;
export const POINTS = 20_000;

const KEPT = "separatrix-draw";

/** Widths of the pen, relative to the usual one. */
export const PENS = { least: 0.5, most: 2 };

/** What was kept, or empty paper. @returns {{strokes: [number, number][][], chosen: string, pen: number}} */
export function restore() {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEPT) ?? "{}");
    const pen = found?.pen >= PENS.least && found?.pen <= PENS.most ? found.pen : 1;
    return { strokes: checkStrokes(found?.strokes), chosen: typeof found?.chosen === "string" ? found.chosen : "", pen };
  } catch {
    return { strokes: [], chosen: "", pen: 1 }; // storage may be switched off, or hold something else
  }
}

/** @param {[number, number][][]} strokes @param {string} chosen the key of a model @param {number} pen its width */
export function save(strokes, chosen, pen) {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify({ strokes, chosen, pen }));
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
