/**
 * Times, sizes and states in words. Times from the server are seconds since 1970.
 */
import { h } from "./dom.js";

/**
 * @typedef {Object} Job
 * @property {string} id
 * @property {string} title
 * @property {"named"|"file"} kind
 * @property {Record<string, any>} request
 * @property {"queued"|"running"|"done"|"failed"|"cancelled"|"interrupted"} status
 * @property {number} created
 * @property {number|null} started
 * @property {number|null} finished
 * @property {number|null} seconds
 * @property {{message: string, done: number, total: number|null}|null} progress
 * @property {string[]} summary
 * @property {{message: string, hint?: string}|null} error
 * @property {string[]} files
 * @property {{title: string, error: number}|null} model  its error is in per cent of test rows
 * @property {string} python
 * @property {string} command
 */

const KINDS = { done: "good", failed: "bad", running: "busy" };

/** @param {Job} job */
export const active = (job) => job.status === "running" || job.status === "queued";

/** @param {Job} job */
export const resumable = (job) => ["interrupted", "cancelled", "failed"].includes(job.status);

/** The state of a job as a word. @param {string} status */
export const statusTag = (status) =>
  h("span", { class: `tag ${KINDS[status] ?? ""}`, data: { test: "job-status", status } }, status);

/** 4.2 s, 38 s, 1 min 05 s, 2 h 03 min. @param {number} seconds */
export function duration(seconds) {
  if (seconds < 9.95) return `${Math.max(0, seconds).toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}

const two = (number) => String(number).padStart(2, "0");

/** How long a job has run, or nothing before it started. @param {Job} job */
export function elapsed(job) {
  if (job.seconds !== null && job.seconds !== undefined) return duration(job.seconds);
  if (job.started === null) return "";
  return duration((job.finished ?? Date.now() / 1000) - job.started);
}

/** The time of day, with the day when that is another one. @param {number} seconds */
export function when(seconds) {
  const date = new Date(seconds * 1000);
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}`;
  const today = date.toDateString() === new Date().toDateString();
  const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return h("time", { datetime: date.toISOString(), title: date.toLocaleString("en-GB") }, today ? clock : `${day}, ${clock}`);
}

/** 812 bytes, 4.5 kB, 12 MB. @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return pluralise(bytes, "byte");
  const [value, unit] = bytes < 1e6 ? [bytes / 1e3, "kB"] : [bytes / 1e6, "MB"];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** 1 row, 2 rows. @param {number} number @param {string} word */
export const pluralise = (number, word) => `${number.toLocaleString("en-GB")} ${word}${number === 1 ? "" : "s"}`;
