// Calls to the server.  Errors carry the server's own sentence; a lost server is known to all.
import { useLayoutEffect, useRef } from "/static/vendor/preact-htm.js";
import { signal } from "/static/lib/signal.js";

// up, lost (does not answer), out (answers, but does not know us)
export const connection = signal("up");

export class ApiError extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export async function call(path, { method, body, raw, key, abort } = {}) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (raw !== undefined) headers["Content-Type"] = "application/octet-stream";
  if (key) headers["Idempotency-Key"] = key;
  let answer;
  try {
    answer = await fetch(`/api/v1${path}`, {
      method: method || (body !== undefined || raw !== undefined ? "POST" : "GET"),
      headers,
      body: raw !== undefined ? raw : body === undefined ? undefined : JSON.stringify(body),
      signal: abort,
      credentials: "same-origin",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    connection.value = "lost";
    throw new Error("The server does not answer; the page tries again.");
  }
  connection.value = answer.status === 401 ? "out" : "up";
  if (!answer.ok) {
    const said = await answer.json().catch(() => ({}));
    throw new ApiError(answer.status, said.detail || `The server answered ${answer.status}.`);
  }
  const kind = answer.headers.get("Content-Type") || "";
  return kind.startsWith("application/json") ? answer.json() : answer.blob();
}

// Ask for something that may change meanwhile: an effect gives back what this gives, and so an
// answer that comes after a later question, or after the screen was left, is dropped.
export function ask(path, take, fail = () => {}, options = {}) {
  const stop = new AbortController();
  const wanted = (act) => (value) => { if (!stop.signal.aborted) act(value); };
  call(path, { ...options, abort: stop.signal }).then(wanted(take), wanted(fail));
  return () => stop.abort();
}

// The same where a button asks too: each question takes the one before back.
export function useAsk() {
  const drop = useRef(() => {});
  useLayoutEffect(() => () => drop.current(), []);
  return (...question) => { drop.current(); drop.current = ask(...question); };
}

// Random enough to be used once, also where the page is not in a secure context.
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
}
