// Recent and kept searches on Home: each by its photo or its words.
import { html } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { drop, keep, searches } from "/static/lib/searches.js";
import { fromParams } from "/static/lib/query.js";
import { Link } from "/static/lib/router.js";
import { useThumbnail } from "/static/parts/thumbnail.js";

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
