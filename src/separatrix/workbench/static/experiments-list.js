/**
 * All jobs, newest first. Rows are kept and changed in place, so that focus and the pointer stay where they are.
 */
import { button, empty } from "./controls.js";
import { fill, h } from "./dom.js";
import { mainButton, part, progress } from "./experiments-parts.js";
import { begin } from "./experiments-begin.js";
import { active, statusTag, elapsed, when } from "./experiments-words.js";

/** @typedef {import("./experiments-words.js").Job} Job */

/**
 * @param {{soon: () => void}} context
 * @returns {{element: HTMLElement, show: (jobs: Job[]) => void, showOffline: () => void}}
 */
export function jobList(context) {
  const rows = new Map();
  const list = h("ul", { class: "jobs", data: { test: "jobs" } });
  const place = h("div", {}, h("p", { class: "loading" }, "Loading"));
  const count = h("span", { class: "caption", data: { test: "jobs-count" } });

  function show(jobs) {
    count.textContent = summary(jobs);
    if (jobs.length === 0) {
      if (!place.querySelector(".empty")) fill(place, nothing(context));
      rows.clear();
      return;
    }
    for (const id of [...rows.keys()]) if (!jobs.some((job) => job.id === id)) rows.delete(id);
    for (const job of jobs) {
      if (!rows.has(job.id)) rows.set(job.id, row(job, context));
      rows.get(job.id).show(job);
    }
    const wanted = jobs.map((job) => rows.get(job.id).element);
    if (wanted.length !== list.children.length || wanted.some((element, i) => element !== list.children[i])) fill(list, wanted);
    if (list.parentNode !== place) fill(place, list);
  }

  const showOffline = () => {
    if (place.querySelector(".loading")) fill(place, empty("The list cannot be had now."));
  };
  return {
    element: h("section", { class: "card experiments-jobs", "aria-label": "Jobs" },
      h("div", { class: "card-head" }, h("h2", {}, "Jobs"), count), place),
    show,
    showOffline,
  };
}

function summary(jobs) {
  const running = jobs.filter((job) => job.status === "running").length;
  const waiting = jobs.filter((job) => job.status === "queued").length;
  return [running && `${running} running`, waiting && `${waiting} waiting`].filter(Boolean).join(", ");
}

/** What to try first. */
function nothing(context) {
  const start = button("Start it", async () => {
    start.disabled = true;
    if (!(await begin({ kind: "named", name: "linear-classifiers", quick: true, seed: 0 }))) start.disabled = false;
    context.soon();
  }, "primary", { "data-test": "try-first" });
  const box = empty("Nothing has run yet.",
    h("p", {}, "A good first one: linear-classifiers, quick. Twelve claims, each with a picture and a table, in less than 30 seconds."),
    start);
  box.dataset.test = "jobs-empty";
  return box;
}

/** @param {Job} first @param {{soon: () => void}} context */
function row(first, context) {
  const title = h("a", { href: `#/experiments/${first.id}`, class: "job-title", title: first.title, data: { test: "job-open" } }, first.title);
  const tag = part(h("span", {}), statusTag);
  const about = h("p", { class: "caption job-about" });
  const request = part(h("span", {}), brief);
  const time = part(h("span", {}), when);
  const long = h("span", { class: "number" });
  const done = progress();
  const actions = part(h("div", { class: "job-actions" }), (job) => mainButton(job, context, "small"));
  about.append(request.element, time.element, long);
  const element = h("li", { class: "job", data: { test: "job", id: first.id } },
    h("div", { class: "job-head" }, title, tag.element), about, done.element, actions.element);

  const show = (/** @type {Job} */ job) => {
    element.dataset.status = job.status;
    tag.show(job.status);
    request.show(job);
    time.show(job.created);
    long.textContent = active(job) ? "" : elapsed(job);
    done.element.hidden = !active(job);
    done.show(job);
    actions.show({ id: job.id, title: job.title, status: job.status });
  };
  return { element, show };
}

/** The request in a few words. @param {Job} job */
function brief(job) {
  if (job.kind === "named") return `seed ${job.request.seed}`;
  if (!job.request.target) return "your own file";
  return h("span", { class: "cut", title: String(job.request.target) }, `target ${job.request.target}`);
}
