/**
 * Experiments: start one, watch it, read its report. Everything is kept by the server; this page only asks.
 */
import { problem } from "./controls.js";
import { fill, h } from "./dom.js";
import { jobPage } from "./experiments-job.js";
import { jobList } from "./experiments-list.js";
import { watchJobs } from "./experiments-poll.js";
import { startPanel } from "./experiments-start.js";
import { active, elapsed } from "./experiments-words.js";

/** @typedef {import("./experiments-words.js").Job} Job */

const ENDS = {
  done: "is done", failed: "has failed", cancelled: "was cancelled", interrupted: "was interrupted",
};

/**
 * @param {HTMLElement} view @param {URLSearchParams} query @param {string[]} rest
 * @returns {Promise<() => void>}
 */
export async function open(view, query, rest = []) {
  const live = h("p", { class: "visually-hidden", role: "status", "aria-live": "polite", data: { test: "announce" } });
  const trouble = h("div", { data: { test: "jobs-problem" } });
  const ends = announcer((sentence) => { live.textContent = sentence; });
  const context = { soon: () => watch.soon() };
  const page = rest[0] ? jobPage(rest[0], context) : overview(context);
  fill(view, live, trouble, page.element);
  const watch = watchJobs({
    onJobs: (jobs, fresh) => {
      fill(trouble);
      ends(jobs);
      page.show(jobs, fresh);
    },
    onError: (error) => {
      if (error.code !== "offline" && error.status !== 401) fill(trouble, problem(error)); // the banner shows those
      page.showOffline?.();
    },
  });
  return () => {
    watch.stop();
    page.close?.();
  };
}

/** The panel to start from, and all jobs. */
function overview(context) {
  const start = startPanel(context);
  const list = jobList(context);
  const element = h("div", {},
    h("div", { class: "intro" },
      h("h1", {}, "Experiments"),
      h("p", {}, "Each gives a report with its tables and pictures. They run one after another and are kept.")),
    h("div", { class: "experiments-columns" }, start.element, list.element),
    start.code);
  return { element, show: list.show, showOffline: list.showOffline, close: start.close };
}

/** Announces once when a job that ran or waited has ended. @param {(sentence: string) => void} announce */
function announcer(announce) {
  /** @type {Map<string, Job>} */
  let before = new Map();
  return (/** @type {Job[]} */ jobs) => {
    for (const job of jobs) {
      const last = before.get(job.id);
      if (last && active(last) && !active(job)) {
        announce(`${job.title} ${ENDS[job.status]}${elapsed(job) ? ` after ${elapsed(job)}` : ""}.`);
      }
    }
    before = new Map(jobs.map((job) => [job.id, job]));
  };
}
