/**
 * What the list and the page of a job share: progress, buttons, parts that change only when they must.
 */
import { post } from "./api.js";
import { button, inOneLine, toast } from "./controls.js";
import { fill, h } from "./dom.js";
import { removeJob, addJob } from "./experiments-poll.js";
import { resumable, elapsed } from "./experiments-words.js";

/** @typedef {import("./experiments-words.js").Job} Job */

/**
 * A part that is built again only when what it shows is another; the focus stays in it.
 *
 * @template T
 * @param {HTMLElement} element @param {(value: T) => any} build
 * @returns {{element: HTMLElement, show: (value: T) => void}}
 */
export function part(element, build) {
  const show = onChange((value) => {
    const focused = element.contains(document.activeElement);
    const children = [build(value)].flat(Infinity).filter(Boolean);
    fill(element, children);
    element.hidden = children.length === 0;
    if (focused) element.querySelector("button:not(:disabled), a")?.focus();
  });
  return { element, show };
}

/** Call `work` only with a value that differs from the last. @template T @param {(value: T) => void} work */
export function onChange(work) {
  let last;
  return (/** @type {T} */ value) => {
    const key = JSON.stringify(value);
    if (key === last) return;
    last = key;
    work(value);
  };
}

/**
 * How far a job is: a meter, the step's name, "3 of 12", the time.
 *
 * @returns {{element: HTMLElement, show: (job: Job) => void}}
 */
export function progress() {
  const filled = h("i");
  const meter = h("div", { class: "meter", role: "progressbar", "aria-label": "Progress", "aria-valuemin": 0 }, filled);
  const message = h("span", { class: "progress-message", data: { test: "progress-message" } });
  const count = h("span", { class: "number", data: { test: "progress-count" } });
  const time = h("span", { class: "number", data: { test: "elapsed" } });
  const element = h("div", { class: "progress", data: { test: "progress" } }, meter, h("div", { class: "progress-words" }, message, count, time));

  const show = (job) => {
    const now = job.progress;
    const total = (now?.total ?? 0) > 1 ? now.total : null; // one thing to do: nothing is known yet
    meter.hidden = job.status === "queued";
    meter.classList.toggle("unknown", job.status === "running" && total === null);
    filled.style.setProperty("--share", total ? String(Math.min(1, now.done / total)) : "0");
    if (total) {
      meter.setAttribute("aria-valuemax", String(total));
      meter.setAttribute("aria-valuenow", String(now.done));
    } else {
      meter.removeAttribute("aria-valuenow");
    }
    message.textContent = job.status === "queued" ? "waiting for the one that runs" : now?.message || "starting";
    message.title = message.textContent;
    count.textContent = total ? `${now.done} of ${total}` : "";
    time.textContent = job.status === "running" ? [elapsed(job), left(job)].filter(Boolean).join(", ") : "";
  };
  return { element, show };
}

/** About how long it still takes, if the rest goes as what is done. @param {Job} job */
function left({ progress: now, seconds }) {
  if (!now || !(now.total > 1) || now.done < 1 || now.done >= now.total || !seconds) return "";
  const rest = (seconds / now.done) * (now.total - now.done);
  return `about ${rest < 90 ? `${Math.max(1, Math.round(rest))} s` : `${Math.round(rest / 60)} min`} left`;
}

/**
 * Ask the server to do something with a job; the answer is shown soon, a refusal at the edge.
 *
 * @param {Job} job @param {"cancel"|"resume"|"delete"} what @param {{soon: () => void}} context
 */
export async function ask(job, what, context) {
  try {
    const answer = await post(`/api/jobs/${job.id}/${what}`, {});
    if (what === "delete") removeJob(job.id);
    else addJob(answer);
    return true;
  } catch (error) {
    toast(inOneLine(error), "bad");
    return false;
  } finally {
    context.soon();
  }
}

/** The button that a job's state allows, if any. @param {Job} job @param {{soon: () => void}} context @param {string} kind */
export function mainButton(job, context, kind = "") {
  const press = (title, what) => {
    let pressed = false; // not disabled: that would lose the focus
    const made = button(title, async () => {
      if (pressed) return;
      pressed = true;
      await ask(job, what, context);
      pressed = false;
    }, kind, { "data-test": `job-${what}`, "aria-label": `${title} ${job.title}` });
    return made;
  };
  if (job.status === "running" || job.status === "queued") return press("Cancel", "cancel");
  return resumable(job) ? press("Resume", "resume") : null;
}

/**
 * Delete, confirmed in place.
 *
 * @param {Job} job @param {() => Promise<void>} onDelete
 */
export function deleteButton(job, onDelete) {
  const place = h("span", { class: "row delete" });
  const first = button("Delete", () => confirm(), "quiet", { "data-test": "job-delete" });
  const back = () => {
    fill(place, first);
    first.focus();
  };
  const confirm = () => {
    const keep = button("Keep", back, "", { "data-test": "delete-keep" });
    const sure = button("Delete", () => { sure.disabled = true; onDelete(); }, "danger", { "data-test": "delete-sure" });
    const question = h("span", { role: "group", "aria-label": `Delete ${job.title}?`, class: "row",
      on: { keydown: (event) => { if (event.key === "Escape") back(); } } },
      h("span", {}, "Delete it with its report?"), sure, keep);
    fill(place, question);
    keep.focus();
  };
  fill(place, first);
  return place;
}
