// Judgements on their way.  Each waits in the browser's storage under its own key until the
// server has it, so a lost server or a closed tab costs none; the key makes sending it twice
// harmless.  What is taken back after it was sent once, with no answer yet, is sent again (the
// server may have it) and then undone by its number.
import { ApiError, call, connection, newKey } from "/static/lib/api.js";
import { ticks } from "/static/lib/news.js";
import { signal } from "/static/lib/signal.js";
import { complain, say } from "/static/lib/toasts.js";

const PREFIX = "likewise-outbox:";
export const waiting = signal(0);
export const person = signal(localStorage.getItem("likewise-person") || "");
person.watch((name) => localStorage.setItem("likewise-person", name));

const undoable = [];
const settlers = new Map();
let sending = null;
count();

function stored() {
  const entries = [];
  for (let at = 0; at < localStorage.length; at++) {
    const name = localStorage.key(at);
    if (name.startsWith(PREFIX)) entries.push(JSON.parse(localStorage.getItem(name)));
  }
  return entries.sort((a, b) => a.time - b.time);
}

function count() {
  waiting.value = stored().filter((entry) => !entry.undone).length;
}

const read = (key) => JSON.parse(localStorage.getItem(PREFIX + key));

function write(entry) {
  localStorage.setItem(PREFIX + entry.key, JSON.stringify(entry));
  count();
}

function erase(key) {
  localStorage.removeItem(PREFIX + key);
  count();
}

function put(path, body) {
  const entry = { key: newKey(), path, body, time: Date.now() + performance.now() % 1 };
  write(entry);
  const settled = new Promise((resolve, reject) => settlers.set(entry.key, { resolve, reject }));
  flush();
  return { entry, settled };
}

function settle({ key }, how, value) {
  const undone = read(key)?.undone;
  erase(key);
  if (settlers.has(key)) settlers.get(key)[how](value);
  else if (how === "resolve") ticks.judgements.value += 1; // left by an earlier page: nobody waits for it
  settlers.delete(key);
  if (undone && how === "resolve") value.records.forEach((number) => undo(number).catch(complain));
}

export function flush() {
  sending ||= sendAll().finally(() => { sending = null; });
  return sending;
}

async function sendAll() {
  for (let entry; (entry = stored()[0]); ) {
    write({ ...entry, tried: true });
    try {
      settle(entry, "resolve", await call(entry.path, { body: entry.body, key: entry.key }));
    } catch (error) {
      const refused = error instanceof ApiError && error.status !== 401 && error.status < 500;
      if (!refused) return; // the server is away: another try when it is back
      settle(entry, "reject", error);
    }
  }
}

connection.watch((state) => { if (state === "up") flush(); });
addEventListener("online", flush);

// Say that items are (or are not) what a query wants; resolves when it is on the disk.
export async function judge(query, items, relevant, positions) {
  return send({ query, items, kind: "label", relevant, positions, person: person.value });
}

// A result was opened; position is its place among the results, from 1 (0: not known).
export function click(query, item, position = 0) {
  return send({ query, items: [item], kind: "click", positions: [position], person: person.value }).catch(() => {});
}

async function send(body) {
  const { entry, settled } = put("/judgements", body);
  const record = { entry, made: null };
  if (body.kind === "label") undoable.push(record);
  try {
    record.made = (await settled).records;
    return record.made;
  } catch (error) {
    undoable.splice(undoable.indexOf(record), 1);
    complain(error);
    throw error;
  }
}

// Send anything else in the same way: in order, once, also when the server is away meanwhile.
export const deliver = (path, body) => put(path, body).settled;

// Take the latest judgement of this tab back; resolves to what it said, or null.
export async function undoLast() {
  const record = undoable.pop();
  if (!record) {
    say("There is nothing to undo in this tab; all your feedback is listed under Teach.");
    return null;
  }
  await withdraw(record);
  return record.entry.body;
}

async function withdraw(record) {
  if (record.made) {
    for (const number of record.made) await undo(number);
  } else {
    const entry = read(record.entry.key) || { ...record.entry, tried: true }; // sent by another tab
    if (entry.tried) {
      write({ ...entry, undone: true });
      flush();
    } else erase(entry.key);
  }
}

// Take back what was said of an item for a query: what the server has of it, and what is on its way there.
export async function takeBack(query, item, records) {
  const same = ({ entry: { body } }) => body.items.length === 1 && body.items[0] === item && JSON.stringify(body.query) === JSON.stringify(query);
  for (const record of undoable.filter((r) => !r.made && same(r))) {
    undoable.splice(undoable.indexOf(record), 1);
    await withdraw(record);
  }
  await Promise.all(records.map(undo));
}

export function undo(number) {
  for (const record of undoable) {
    if (record.made?.includes(number)) record.made = record.made.filter((n) => n !== number);
  }
  return put(`/judgements/${number}/undo`, { person: person.value }).settled;
}
