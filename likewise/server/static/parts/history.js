// Your feedback: the latest of it, each with its undo.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { useAsk } from "/static/lib/api.js";
import { ago, count } from "/static/lib/format.js";
import { ticks } from "/static/lib/news.js";
import { undo } from "/static/lib/outbox.js";
import { complain } from "/static/lib/toasts.js";
import { useThumbnail } from "/static/parts/thumbnail.js";

export function History() {
  const [page, setPage] = useState({ records: [], next: null, counting: 0 });
  const changed = useSignal(ticks.judgements);
  const ask = useAsk();
  const load = (cursor, before) =>
    ask(`/judgements?limit=20&cursor=${cursor}`, (found) => setPage({ ...found, records: [...before, ...found.records] }));
  useEffect(() => { load(0, []); }, [changed]);
  if (!page.records.length) return null;
  return html`<details class="history"><summary>Your feedback (${count(page.counting)})</summary>
    <ul>${page.records.map((r) => html`<${Said} key=${r.id} r=${r} />`)}</ul>
    ${page.next && html`<button onClick=${() => load(page.next, page.records)}>Older ones</button>`}</details>`;
}

const VERBS = { click: "opened for", ordering: "put in order for" };

function Said({ r }) {
  const verb = VERBS[r.kind] || (r.value > 0 ? "right for" : "wrong for");
  return html`<li>
    ${r.items.slice(0, 5).map((item) => html`<${Small} key=${item} item=${item} />`)}
    <span class=${r.kind === "label" ? (r.value > 0 ? "right" : "wrong") : ""}>${verb}</span>
    ${r.query.text ? html`<q>${r.query.text}</q>` : html`<${Small} item=${r.query.item} upload=${r.query.upload} />`}
    <span class="soft">${r.person || "somebody"}, ${ago(r.time)}</span>
    <button onClick=${() => undo(r.id).catch(complain)}>Undo</button></li>`;
}

function Small({ item, upload }) {
  const src = useThumbnail({ item, upload });
  return src ? html`<img src=${src} alt=${item ? `picture ${item}` : "an uploaded picture"} />` : null;
}
