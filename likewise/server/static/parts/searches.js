// Searches that this browser remembers, by collection: the latest, and those that were kept; on Home each by
// its photo or its words.
import { html } from "/static/vendor/preact-htm.js";
import { signal, useSignal } from "/static/lib/signal.js";
import { Link, route } from "/static/lib/router.js";
import { status } from "/static/lib/news.js";
import { useThumbnail } from "/static/parts/thumbnail.js";
import { fromParams, isEmpty, toParams } from "/static/lib/query.js";

const RECENT = 8;
const KEPT = 40;

// [{ search, kept }], the latest first; search is the query as it stands in the address.
const searches = signal([]);

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

const keep = (search, kept) => write(searches.value.map((one) => (one.search === search ? { ...one, kept } : one)));
const drop = (search) => write(searches.value.filter((one) => one.search !== search));

let known = "";
status.watch(() => {
  if (place() !== known) { known = place(); searches.value = read(); note(); }
});
route.watch(note);

export function Searches() {
  const all = useSignal(searches);
  if (!all.length) return null;
  const ordered = [...all.filter((one) => one.kept), ...all.filter((one) => !one.kept)];
  return html`<h2>Your searches</h2>
    <ul class="searches" aria-label="Your searches">${ordered.map((one) => html`<${Search} key=${one.search} ...${one} />`)}</ul>`;
}

function Search({ search, kept }) {
  const query = fromParams(new URLSearchParams(search));
  const first = query.examples.find((e) => e.weight > 0) || query.examples[0];
  const others = query.examples.length > 1 ? ` and ${query.examples.length - 1} more` : "";
  const words = [query.text && `“${query.text}”`, first && `like a photo${others}`, ...query.tags, query.folder].filter(Boolean).join(", ");
  return html`<li>
    <${Link} to="/results" params=${new URLSearchParams(search)}>${first && html`<${Small} e=${first} />`}<span>${words}</span><//>
    <button class="quiet" aria-pressed=${kept ? "true" : "false"} onClick=${() => keep(search, !kept)}
      aria-label=${kept ? `Do not keep ${words}` : `Keep ${words}`} title=${kept ? "Kept; press to let it go" : "Keep this search"}>${kept ? "★" : "☆"}</button>
    <button class="quiet" onClick=${() => drop(search)} aria-label=${`Remove ${words}`} title="Remove">×</button>
  </li>`;
}

function Small({ e }) {
  const src = useThumbnail(e);
  return src && html`<img src=${src} alt="" />`;
}
