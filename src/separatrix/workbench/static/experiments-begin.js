/**
 * Start a job and go to its page.
 */
import { post } from "./api.js";
import { inOneLine, toast } from "./controls.js";
import { addJob } from "./experiments-poll.js";

/**
 * @param {object} request  as the server takes it
 * @param {(error: any) => void} [onError]
 * @returns {Promise<boolean>} whether it was taken
 */
export async function begin(request, onError = (error) => toast(inOneLine(error), "bad")) {
  try {
    const job = await post("/api/jobs", request);
    addJob(job);
    location.hash = `#/experiments/${job.id}`;
    return true;
  } catch (error) {
    onError(error);
    return false;
  }
}
