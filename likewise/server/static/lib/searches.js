// Searches that this browser remembers, by collection: the latest, and those that were kept.
import { signal } from "/static/lib/signal.js";
import { route } from "/static/lib/router.js";
import { status } from "/static/lib/news.js";
import { fromParams, isEmpty, toParams } from "/static/lib/query.js";

const RECENT = 8;
const KEPT = 40;

// [{ search, kept }], the latest first; search is the query as it stands in the address.
export const searches = signal([]);

const place = () => status.value && `likewise-searches-${status.value.name}`;

function read() {
  try {
    return JSON.parse(localStorage.getItem(place())).filter((one) => typeof one.search === "string");
  } catch {
    return [];
  }
}

function write(all) {
  const kept = all.filter((one) => one.kept).slice(0, KEPT);
  const latest = all.filter((one) => !one.kept).slice(0, RECENT);
  searches.value = all.filter((one) => kept.includes(one) || latest.includes(one));
  localStorage.setItem(place(), JSON.stringify(searches.value));
}

// How it is shown, by which model and how many, is no part of what is looked for.
const essence = ({ text, examples, tags, folder, same }) => toParams({ text, examples, tags, folder, same }).toString();

function note() {
  if (!place() || route.value.path !== "/results") return;
  const query = fromParams(route.value.params);
  if (isEmpty(query)) return;
  const search = essence(query);
  const known = read();
  const before = known.find((one) => one.search === search);
  if (known[0]?.search !== search) write([before || { search, kept: false }, ...known.filter((one) => one !== before)]);
}

export const keep = (search, kept) => write(searches.value.map((one) => (one.search === search ? { ...one, kept } : one)));
export const drop = (search) => write(searches.value.filter((one) => one.search !== search));

let known = "";
status.watch(() => {
  if (place() !== known) { known = place(); searches.value = read(); note(); }
});
route.watch(note);
