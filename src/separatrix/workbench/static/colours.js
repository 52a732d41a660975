/**
 * Colours for canvases, in both schemes. Classes differ in lightness too, so that they can be distinguished
 * without colour vision (after Okabe and Ito, and Tol); points also differ in shape.
 */

const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#aa4499", "#b8860b", "#56b4e9", "#882255", "#117733", "#6b6b6b", "#332288", "#7f4f24", "#00a5b5"];
const DARK = ["#4aa8e0", "#ff8c42", "#2fc89a", "#e07bd0", "#e3b341", "#9ad4f5", "#f08cae", "#7ccf7c", "#b0b0b0", "#a99bf0", "#c49a6c", "#5ed3dd"];
const PLAIN = {
  light: { ground: "#ffffff", ink: "#1f2328", quiet: "#57606a", line: "#d8dee4", shade: "#f6f8fa", mark: "#0b5cad", good: "#1a7f37", bad: "#b3261e" },
  dark: { ground: "#14181d", ink: "#e3e8ee", quiet: "#9aa5b1", line: "#333b45", shade: "#1c2229", mark: "#7cb8f5", good: "#4ac26b", bad: "#ff8a80" },
};
const dark = matchMedia("(prefers-color-scheme: dark)");
const KEY = "separatrix-theme";
const changes = new EventTarget();

/** @returns {"light"|"dark"} */
export function scheme() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return dark.matches ? "dark" : "light";
}

/** Ground, ink, lines and marks of the present scheme. */
export const plain = () => PLAIN[scheme()];

/** The colour of a class by its number. @param {number} index */
export function classColour(index) {
  const all = scheme() === "dark" ? DARK : LIGHT;
  return all[index % all.length];
}

/** Red, green and blue, 0..255, of "#rrggbb". @param {string} colour @returns {[number, number, number]} */
export function channels(colour) {
  const value = parseInt(colour.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** Told when the scheme changes. @param {() => void} listener @param {AbortSignal} signal */
export function onScheme(listener, signal) {
  changes.addEventListener("change", listener, { signal });
}

dark.addEventListener("change", () => changes.dispatchEvent(new Event("change")));

const CHOICES = ["auto", "light", "dark"];
const SAID = {
  auto: ["◐", "Colours: as the system has them"],
  light: ["☀\ufe0e", "Colours: light"],
  dark: ["☾\ufe0e", "Colours: dark"],
};

/** A button that goes through the three choices; the choice is kept. @param {HTMLElement} button */
export function themeButton(button) {
  let choice = CHOICES.includes(readStored()) ? readStored() : "auto";
  const show = () => {
    if (choice === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
    const [sign, words] = SAID[choice];
    button.textContent = sign;
    button.title = words;
    button.setAttribute("aria-label", words);
  };
  button.addEventListener("click", () => {
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
    store(choice);
    show();
    changes.dispatchEvent(new Event("change"));
  });
  show();
}

function readStored() {
  try {
    return localStorage.getItem(KEY) ?? "auto";
  } catch {
    return "auto"; // storage may be switched off
  }
}

function store(choice) {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // then it holds for this page only
  }
}
