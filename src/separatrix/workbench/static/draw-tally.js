/**
 * How often the models were right on the drawings of this tab: counted when a person says what a drawing is.
 */
const KEPT = "separatrix-draw-tally";
const MOST = 500; // drawings

/**
 * @typedef {Object} Judged
 * @property {string} data the data set
 * @property {string} drawing
 * @property {string} label what the person says
 * @property {string} said what the majority said
 * @property {Record<string, string>} answers by model
 */

export function makeTally() {
  /** @type {Judged[]} */
  let judged = restore();

  function write() {
    try {
      sessionStorage.setItem(KEPT, JSON.stringify(judged));
    } catch {
      // then the count begins again after a reload
    }
  }

  const of = (data) => judged.filter((one) => one.data === data);
  const count = (list, says) => list.filter((one) => says(one) === one.label).length;

  return {
    /** A drawing that is judged again counts once, with the answers from before anything was learned of it. */
    add: (data, strokes, label, reply) => {
      const drawing = JSON.stringify(strokes);
      const known = judged.find((one) => one.data === data && one.drawing === drawing);
      if (known) known.label = label;
      else {
        const answers = Object.fromEntries(reply.answers.map((one) => [one.key, one.label]));
        judged = [...judged.slice(1 - MOST), { data, drawing, label, said: reply.distance?.far ? "" : reply.verdict.label, answers }];
      }
      write();
    },
    /** @param {string} data @returns {string} */
    words: (data) => {
      const list = of(data);
      return list.length ? `Right on ${count(list, (one) => one.said)} of your ${list.length === 1 ? "1 drawing" : `${list.length} drawings`}.` : "";
    },
    /** @param {string} data @param {string} key of a model @returns {string} */
    modelWords: (data, key) => {
      const list = of(data).filter((one) => key in one.answers);
      return list.length ? `right on ${count(list, (one) => one.answers[key])} of your ${list.length}` : "";
    },
  };
}

function restore() {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
    const good = (one) => [one?.data, one?.drawing, one?.label, one?.said].every((word) => typeof word === "string") && typeof one.answers === "object" && one.answers;
    return Array.isArray(found) ? found.filter(good) : [];
  } catch {
    return [];
  }
}
