/**
 * The choices in the panel to start from, kept for this session of the browser.
 */
const KEY = "separatrix-experiments";
const FIRST = { way: "named", name: "linear-classifiers", quick: true, seed: 0, folds: 5, target: null, roles: {}, models: null, upload: null };

let now = { ...FIRST, ...readStored() };

/** @returns {typeof FIRST & {upload: any, models: string[]|null}} */
export const getChoices = () => now;

/** @param {Partial<typeof FIRST> & Record<string, any>} changes */
export function setChoices(changes) {
  now = { ...now, ...changes };
  try {
    sessionStorage.setItem(KEY, JSON.stringify(now));
  } catch {
    // storage may be full or switched off: then it holds until the page is loaded again
  }
}

function readStored() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}
