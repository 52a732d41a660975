/**
 * Questions to the server. Every error has the same shape: a code, a sentence and what to do.
 */

export class ApiError extends Error {
  /** @param {{code: string, message: string, hint?: string}} error @param {number} status */
  constructor(error, status) {
    super(error.message);
    this.code = error.code;
    this.hint = error.hint ?? "";
    this.status = status;
  }
}

/** Notified when the server stops answering, and when it answers again. */
export const connection = new EventTarget();
let away = "";

function setOffline(gone, error = null) {
  const now = gone ? error.code : "";
  if (now === away) return;
  away = now;
  connection.dispatchEvent(new CustomEvent("change", { detail: { gone, error } }));
}

/** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} */
export const get = (path, signal) => ask(path, { signal });

/** @param {string} path @param {object} body @param {AbortSignal} [signal] @returns {Promise<any>} */
export const post = (path, body, signal) =>
  ask(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });

async function ask(path, options) {
  let reply;
  try {
    reply = await fetch(path, { ...options, credentials: "same-origin", cache: "no-store" });
  } catch (cause) {
    if (cause.name === "AbortError") throw cause;
    const error = new ApiError(
      {
        code: "offline",
        message: "The workbench does not answer.",
        hint: "Start it again in a terminal: separatrix workbench. Finished work is kept.",
      },
      0,
    );
    setOffline(true, error);
    throw error;
  }
  const answer = await reply.json().catch(() => null);
  if (reply.ok && answer !== null) {
    setOffline(false);
    return answer;
  }
  const found = answer?.error ?? { code: "reply", message: `The server answered ${reply.status}.` };
  const error = new ApiError(found, reply.status);
  setOffline(reply.status === 401, error);
  throw error;
}

/**
 * One call at a time, and only the newest of those that wait: what a dragged slider needs. What `work` leaves to be done
 * is done after the next one has begun: the server computes while the page paints.
 *
 * @template T
 * @param {(value: T) => Promise<void|(() => void)>} work
 * @returns {((value: T) => void) & {busy: () => boolean}}
 */
export function latest(work) {
  let busy = false;
  let waiting = null;
  const run = async (value) => {
    busy = true;
    let rest = null;
    try {
      rest = await work(value);
    } finally {
      busy = false;
      const next = waiting;
      waiting = null;
      if (next) run(next.value);
      rest?.();
    }
  };
  const call = (value) => {
    if (busy) waiting = { value };
    else run(value);
  };
  call.busy = () => busy;
  return call;
}

/** Bytes of a base64 string. @param {string} text @returns {Uint8Array} */
export function bytes(text) {
  const raw = atob(text);
  const data = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) data[i] = raw.charCodeAt(i);
  return data;
}

/** A base64 string of bytes, in parts: a call takes only so many arguments. @param {Uint8Array} data */
export function base64(data) {
  let raw = "";
  for (let start = 0; start < data.length; start += 0x8000) {
    raw += String.fromCharCode(...data.subarray(start, start + 0x8000));
  }
  return btoa(raw);
}
