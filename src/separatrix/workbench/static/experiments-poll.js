/**
 * The list of jobs, requested again and again: often while something runs, seldom otherwise, never
 * while the page is hidden. What was last known is kept, so that a page has it at once.
 */
import { get } from "./api.js";
import { active } from "./experiments-words.js";

const OFTEN = 500;
const SELDOM = 4000;
const AWAY = 2000;

/** @type {import("./experiments-words.js").Job[]|null} */
let known = null;

/**
 * Tell `listener` all jobs, now and after each answer, until `stop`.
 *
 * @param {{onJobs: (jobs: import("./experiments-words.js").Job[], fresh: boolean) => void, onError: (error: any) => void}} listener
 * @returns {{soon: () => void, stop: () => void}}
 */
export function watchJobs({ onJobs, onError }) {
  const controller = new AbortController();
  const { signal } = controller;
  let timer = 0;
  let asking = false;
  let again = false;

  function next(delay) {
    clearTimeout(timer);
    if (!signal.aborted && !document.hidden) timer = setTimeout(ask, delay);
  }

  async function ask() {
    if (asking) {
      again = true; // what is under way may not know yet what was just changed
      return;
    }
    asking = true;
    let delay = AWAY;
    try {
      const { jobs } = await get("/api/jobs", signal);
      if (signal.aborted) return;
      known = jobs;
      delay = jobs.some(active) ? OFTEN : SELDOM;
      onJobs(jobs, true);
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
    } finally {
      asking = false;
    }
    next(again ? 0 : delay);
    again = false;
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : ask()), { signal });
  if (known) onJobs(known, false);
  ask();
  return {
    soon: () => { if (!signal.aborted) ask(); },
    stop: () => { clearTimeout(timer); controller.abort(); },
  };
}

/** Put a job's newer state into what was last known. @param {import("./experiments-words.js").Job} job */
export function addJob(job) {
  const others = (known ?? []).filter((one) => one.id !== job.id);
  const place = (known ?? []).findIndex((one) => one.id === job.id);
  others.splice(Math.max(0, place), 0, job);
  known = others;
}

/** A job is gone. @param {string} id */
export function removeJob(id) {
  known = known?.filter((one) => one.id !== id) ?? null;
}
