/**
 * One job: how far it is, then its answer in words, its report and its files.
 */
import { codePanel } from "./code.js";
import { problem, toast } from "./controls.js";
import { fill, h } from "./dom.js";
import { ask, deleteButton, mainButton, onChange, part, progress } from "./experiments-parts.js";
import { confusionTable, leaderboard } from "./experiments-leaderboard.js";
import { active, statusTag, elapsed, when } from "./experiments-words.js";

/** @typedef {import("./experiments-words.js").Job} Job */

const HOME = "#/experiments";
const LINKS = { "best.model": "Download the model", "results.csv": "Download the table" };

/**
 * @param {string} id @param {{soon: () => void}} context
 * @returns {{element: HTMLElement, show: (jobs: Job[], fresh: boolean) => void}}
 */
export function jobPage(id, context) {
  const title = h("h1", { class: "job-name", data: { test: "job-title" } });
  const tag = part(h("span", {}), statusTag);
  const done = progress();
  const trouble = part(h("div", {}), (error) => error && problem(error));
  const answer = part(h("div", { class: "answer", data: { test: "job-words" } }), (words) => words.map((line) => h("p", {}, line)));
  const actions = part(h("div", { class: "row" }), (job) => buttons(job, context));
  const known = part(h("dl", { class: "facts", data: { test: "job-facts" } }), facts);
  const board = part(h("section", { class: "card" }), leaderboard);
  const confused = part(h("section", { class: "card" }), confusionTable);
  const report = part(h("section", { class: "report" }), frame);
  const code = codePanel();
  const showCode = onChange(code.show); // a text that is being selected must stay
  const body = h("div", { class: "stack" },
    h("div", { class: "job-top" }, title, tag.element),
    h("section", { class: "card stack", "aria-label": "Answer" }, done.element, trouble.element, answer.element, known.element, actions.element),
    h("div", { class: "job-standings" }, board.element, confused.element),
    report.element, code.element);
  const place = h("div", {}, h("p", { class: "loading" }, "Loading"));

  function show(jobs, fresh) {
    const job = jobs.find((one) => one.id === id);
    if (!job) return fresh ? fill(place, missing()) : undefined;
    if (body.parentNode !== place) fill(place, body);
    document.title = `${job.title} · separatrix`;
    title.textContent = job.title;
    title.title = job.title;
    body.dataset.status = job.status;
    tag.show(job.status);
    done.element.hidden = !active(job);
    done.show(job);
    trouble.show(job.error);
    answer.show(job.summary ?? []);
    actions.show({ id: job.id, title: job.title, status: job.status, files: job.files });
    known.show({ ...job, progress: null, leaderboard: null, confusion: null, seconds: active(job) ? null : job.seconds });
    board.show({ rows: job.leaderboard ?? [], running: active(job), study: job.kind === "named" });
    confused.show(job.confusion ?? null);
    report.show(job.files.includes("report.html") ? { id: job.id, finished: job.finished } : null);
    showCode({ python: job.python, command: job.command });
  }

  return {
    element: h("div", { class: "job-page" }, h("p", { class: "back" }, h("a", { href: HOME, data: { test: "back" } }, "← All experiments")), place),
    show,
  };
}

const missing = () =>
  h("div", { data: { test: "job-missing" } },
    problem({ message: "There is no such experiment here.", hint: "It may have been deleted, or this workbench has another folder." }));

/** What can be opened, kept or done. @param {Job} job */
function buttons(job, context) {
  const remove = async () => {
    if (await ask(job, "delete", context)) {
      toast("Deleted");
      location.hash = HOME;
    }
  };
  const address = (name) => `/jobs/${job.id}/${name}`;
  return [
    job.files.includes("report.html")
      ? h("a", { class: "button primary", href: address("report.html"), target: "_blank", rel: "noopener", data: { test: "open-report" } }, "Open the report")
      : null,
    Object.entries(LINKS).filter(([name]) => job.files.includes(name)).map(([name, words]) =>
      h("a", { class: "button", href: address(name), download: name, data: { test: `download-${name.split(".")[0]}` } }, words)),
    mainButton(job, context),
    active(job) ? null : deleteButton(job, remove),
  ];
}

/** @param {Job} job */
function facts(job) {
  const { request } = job;
  const listed = [
    ["Best model", job.model?.title],
    ["Its error", typeof job.model?.error === "number" ? `${job.model.error.toFixed(2)} %` : null],
    ["Version", job.kind === "named" ? (request.quick ? "quick" : "in full") : null],
    ["Target", request.target],
    ["Roles", Object.entries(request.roles ?? {}).map(([name, role]) => `${name}: ${role}`).join(", ")],
    ["Folds", request.folds],
    ["Models", job.kind === "file" ? (request.models?.length ? request.models.join(", ") : "all that suit") : null],
    ["Seed", request.seed],
    [job.started ? "Started" : "Submitted", when(job.started ?? job.created)],
    ["Took", active(job) ? null : elapsed(job)],
  ];
  return listed.filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { title: typeof value === "string" ? value : null }, value)));
}

/** The report in a frame that may run nothing. @param {{id: string}|null} job */
function frame(job) {
  if (!job) return null;
  return [
    h("h2", {}, "Report"),
    h("iframe", { src: `/jobs/${job.id}/report.html`, sandbox: "allow-popups", title: "Report", data: { test: "report" } }),
  ];
}
