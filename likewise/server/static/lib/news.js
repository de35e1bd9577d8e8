// News from the server: jobs as they move, and a count that rises when something changed.
import { call, connection } from "/static/lib/api.js";
import { signal } from "/static/lib/signal.js";
import { say } from "/static/lib/toasts.js";

export const jobs = signal([]);
// The map is drawn for whoever looks at it; nobody started it, so it is no job among the others.
export const mapJob = signal(null);
export const status = signal(null);
// These rise; who shows something that may have changed looks again.
export const ticks = { collection: signal(0), judgements: signal(0), model: signal(0) };
// Rises while pictures come in.
export const arrived = signal(0);
// The latest thing that was done in any target search, in any tab.
export const sessionNews = signal(null);

const began = performance.now();
let greeted = false;
let server = null;
let stream = null;
let asking = false;
let again = false;

export async function look() {
  again = asking; // what is under way may be older than what happened just now
  if (asking) return;
  asking = true;
  try {
    status.value = await call("/status");
    notice(status.value.server);
  } catch {
    // the banner says so
  } finally {
    asking = false;
    if (again) look();
  }
}

function notice(id) {
  if (server && id !== server) {
    say("The server was restarted; going on where you were.");
    ticks.collection.value += 1;
  }
  server = id;
}

// What changed before the stream was open, or while it was broken, was told to nobody here.
function catchUp(quiet) {
  const here = (performance.now() - began) / 1000 + 1;
  for (const [kind, tick] of Object.entries(ticks)) {
    if (greeted || quiet[kind] < here) tick.value += 1;
  }
  greeted = true;
}

function take(job) {
  if (job.kind === "map") { mapJob.value = job; return; }
  const rest = jobs.value.filter((j) => j.id !== job.id);
  jobs.value = [job, ...rest].sort((a, b) => b.id - a.id);
}

// Which model ranks concerns every open page, whoever changed it.
function announce({ model, task }) {
  const [plain, taught] = {
    text: ["Words are looked up as they are written now.", `Model ${model} reads words now.`],
    objects: ["The same object is found without anything learned now.", `Model ${model} finds the same object now.`],
  }[task] || ["Searches go without anything learned now.", `Model ${model} ranks searches now.`];
  say(model === null ? plain : taught);
}

function listen() {
  if (stream) stream.close();
  stream = new EventSource("/api/v1/events");
  const on = (kind, act) => stream.addEventListener(kind, (event) => act(JSON.parse(event.data)));
  on("hello", (news) => {
    connection.value = "up";
    notice(news.server);
    catchUp(news.quiet);
    look();
  });
  on("job", take);
  on("arrived", ({ findable }) => {
    if (status.value) status.value = { ...status.value, findable };
    arrived.value += 1;
  });
  on("collection", () => { ticks.collection.value += 1; look(); });
  on("judgements", () => { ticks.judgements.value += 1; });
  on("session", (news) => { sessionNews.value = news; });
  on("model", (news) => { ticks.model.value += 1; announce(news); look(); });
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
