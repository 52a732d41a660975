/**
 * Stories: prepared scenes with a sentence for each step, by arrow keys in front of a room.
 */
import { button, percent } from "./controls.js";
import { fill, h } from "./dom.js";
import { STORIES } from "./stories.js";

const CARDS = { compare: ".compare-card", lift: ".lift-card", steps: ".steps-part", test: ".test-card" };

/**
 * @param {{start: (query: Record<string, string>, before: () => void) => Promise<void>, steps: any, lift: any, compare: any, on: Function, address: (query: string) => void, left: () => void}} options
 */
export function storyPlayer({ start, steps, lift, compare, on, address, left }) {
  let story = null, at = 0, figures = {};
  let begun = null; // the step whose scene is the page's: answers to questions from before have other figures
  const opener = h("select", { class: "story-opener", "aria-label": "Stories", data: { test: "stories" }, on: { change: () => { if (opener.value) begin(opener.value); } } },
    h("option", { value: "" }, "Stories …"), STORIES.map(({ key, title }) => h("option", { value: key }, title)));
  const title = h("h2", {});
  const text = h("p", { class: "story-text", role: "status", "aria-live": "polite", data: { test: "story-text" } });
  const count = h("span", { class: "story-count number", data: { test: "story-count" } });
  const back = button("Back", () => go(at - 1), "", { data: { test: "story-back" }, title: "Arrow left" });
  const next = button("Next", () => go(at + 1), "primary", { data: { test: "story-next" }, title: "Arrow right" });
  const full = button("Full screen", fullScreen, "small", { data: { test: "story-full" } });
  const element = h("section", { class: "card story-card", hidden: true, "aria-label": "Story" },
    h("div", { class: "story-head" }, title, full, button("Leave", () => close(), "quiet small", { data: { test: "story-leave" } })),
    text, h("div", { class: "story-foot row" }, back, next, count));
  const page = () => element.closest(".page-playground");

  /** A story that was chosen from the list: there, the arrow keys would go to another one. */
  function begin(key) {
    open(key);
    next.focus({ preventScroll: true });
  }

  async function open(key, step = 0) {
    story = STORIES.find((one) => one.key === key) ?? STORIES[0];
    opener.value = story.key;
    element.hidden = false;
    await go(Number.isInteger(step) ? step : 0);
  }

  async function go(wanted) {
    if (!story || wanted >= story.steps.length || wanted < 0) return;
    at = wanted;
    const step = story.steps[at];
    figures = {};
    begun = null;
    title.textContent = story.title;
    count.textContent = `${at + 1} of ${story.steps.length}`;
    back.disabled = at === 0;
    next.disabled = at === story.steps.length - 1;
    say();
    address(`story=${story.key}&at=${at + 1}`);
    lift.shut();
    if (page()) page().dataset.look = step.look ?? "plane";
    await start(step.query, () => { begun = step; });
    if (step.shared) compare.share(step.shared);
    if (!story || story.steps[at] !== step) return; // another step was wanted meanwhile
    if (step.lift) lift.start(step.lift);
    if (step.play) steps.play();
    if (step.look && !page()?.classList.contains("lecture")) reveal(document.querySelector(CARDS[step.look]));
  }

  /** Bring a card into sight, below the sentence, which stays at the top. */
  function reveal(card) {
    if (!card) return;
    card.style.setProperty("scroll-margin-top", `${element.getBoundingClientRect().height + parseFloat(getComputedStyle(element).top || "0") + 12}px`);
    card.scrollIntoView({ block: "nearest" });
  }

  /** The sentence, with the figures of the fit once they are there. */
  function say() {
    fill(text, story.steps[at].text.split(/(\{\w+\})/).map((part) => (/^\{/.test(part) ? h("b", {}, figures[part.slice(1, -1)] ?? "…") : part)));
  }

  /** The figures of a fit that has arrived; `asked` is the step of its question. */
  function take(answer, asked) {
    if (!story || !asked || asked !== begun || answer.unfinished) return;
    const share = (pair) => (pair ? percent(pair) : "…");
    figures = { train: share(answer.errors.train), test: share(answer.errors.test), mistakes: answer.facts.find(({ title: one }) => one === "mistakes while learning")?.value };
    say();
  }

  async function fullScreen() {
    const place = page();
    const lecture = place.classList.toggle("lecture");
    full.textContent = lecture ? "Leave full screen" : "Full screen";
    if (lecture) await place.requestFullscreen?.().catch(() => {}); // large type also where the browser refuses
    else if (document.fullscreenElement) await document.exitFullscreen();
  }

  function close() {
    if (!story) return;
    story = begun = null;
    opener.value = "";
    element.hidden = true;
    if (page()?.classList.contains("lecture")) fullScreen();
    if (page()) delete page().dataset.look;
    left();
  }

  on(document, "fullscreenchange", () => { if (!document.fullscreenElement && page()?.classList.contains("lecture")) fullScreen(); });
  on(document, "keydown", (event) => {
    if (!story || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea, canvas") || event.target.closest?.(".transport-row")) return;
    const act = { ArrowRight: () => go(at + 1), PageDown: () => go(at + 1), ArrowLeft: () => go(at - 1), PageUp: () => go(at - 1) }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  return { element, opener, open, take, close, step: () => begun, told: () => (story ? { title: story.title, text: text.textContent } : null) };
}
