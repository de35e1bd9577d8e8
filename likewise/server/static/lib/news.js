// News from the server: jobs as they move, and a count that rises when something changed.
import { call, connection } from "/static/lib/api.js";
import { signal } from "/static/lib/signal.js";
import { say } from "/static/lib/toasts.js";

export const jobs = signal([]);
export const status = signal(null);
// These rise; who shows something that may have changed looks again.
export const ticks = { collection: signal(0), judgements: signal(0), model: signal(0) };
// The latest thing that was done in any target search, in any tab.
export const sessionNews = signal(null);

let server = null;
let stream = null;
let asking = false;

export async function look() {
  if (asking) return;
  asking = true;
  try {
    status.value = await call("/status");
    notice(status.value.server);
  } catch {
    // the banner says so
  } finally {
    asking = false;
  }
}

function notice(id) {
  if (server && id !== server) {
    say("The server was restarted; going on where you were.");
    ticks.collection.value += 1;
  }
  server = id;
}

function take(job) {
  const rest = jobs.value.filter((j) => j.id !== job.id);
  jobs.value = [job, ...rest].sort((a, b) => b.id - a.id);
}

function listen() {
  if (stream) stream.close();
  stream = new EventSource("/api/v1/events");
  const on = (kind, act) => stream.addEventListener(kind, (event) => act(JSON.parse(event.data)));
  on("hello", (news) => {
    connection.value = "up";
    notice(news.server);
    look();
  });
  on("job", take);
  on("collection", () => { ticks.collection.value += 1; look(); });
  on("judgements", () => { ticks.judgements.value += 1; });
  on("session", (news) => { sessionNews.value = news; });
  on("model", () => { ticks.model.value += 1; look(); });
  stream.onerror = () => {
    if (connection.value === "up") connection.value = "lost";
    if (stream.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
  };
}

export function begin() {
  listen();
  look();
  // Also ask now and then: a stream may be silent because something between us swallows it.
  setInterval(() => {
    const busy = jobs.value.some((job) => job.state === "running");
    if (connection.value !== "up" || (busy && !document.hidden)) look();
  }, 3000);
}

export const running = (all) => all.find((job) => job.state === "running");
