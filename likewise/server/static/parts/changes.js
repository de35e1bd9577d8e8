// Queries that lost or won most when the ranking changed: the query, and what stood first before
// and after, right and wrong ones framed.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { ask } from "/static/lib/api.js";
import { view } from "/static/parts/viewer.js";

export function Changes({ changes, before, after }) {
  const worst = list(changes?.worst);
  const best = list(changes?.best);
  const facts = useItems([...worst, ...best]);
  if (!worst.length && !best.length) return html`<p class="soft">No query changed.</p>`;
  const rows = (title, all) => html`<h3>${title}</h3>
    ${all.length ? html`<ul class="changes">${all.map((one, at) => html`<${Change} key=${at} one=${one} facts=${facts} before=${before} after=${after} />`)}</ul>`
      : html`<p class="soft">None.</p>`}`;
  return html`${rows("Worst regressions", worst)}${rows("Best gains", best)}`;
}

const list = (some) => (Array.isArray(some) ? some : []);

function Change({ one, facts, before, after }) {
  const query = one.query || {};
  const asked = facts.get(query.item);
  const src = query.upload ? `/api/v1/uploads/${query.upload}` : asked?.thumbnail;
  const change = one.after - one.before;
  return html`<li class="change">
    <figure>${src ? html`<button class="picture" aria-label=${`View the query ${asked?.name || ""}`} onClick=${() => view(query.upload ? { upload: query.upload } : { item: query.item })}>
      <img src=${src} alt="" loading="lazy" /></button>` : html`<span class="gone">gone</span>`}
      <figcaption class=${change < 0 ? "loss" : "gain"}>${one.before.toFixed(2)} → ${one.after.toFixed(2)}${query.crop ? ", a part" : ""}</figcaption></figure>
    <div><${Order} name=${before} items=${one.items_before} facts=${facts} /><${Order} name=${after} items=${one.items_after} facts=${facts} /></div>
  </li>`;
}

function Order({ name, items, facts }) {
  return html`<div class="order"><span class="soft">${name}</span><ol>${list(items).map(([item, relevant]) => {
    const r = facts.get(item);
    const says = relevant ? "right" : "wrong";
    return html`<li key=${item} class=${says}>${r?.thumbnail
      ? html`<img src=${r.thumbnail} alt=${`${r.name}, ${says}`} title=${`${r.name}, ${says}`} loading="lazy" />`
      : html`<span class="gone" title="no longer in the collection">–</span>`}<span class="tick" aria-hidden="true">${relevant ? "✓" : "✗"}</span></li>`;
  })}</ol></div>`;
}

function useItems(all) {
  const [facts, setFacts] = useState(new Map());
  const wanted = [...new Set(all.flatMap((one) =>
    [one.query?.item, ...list(one.items_before).map((p) => p[0]), ...list(one.items_after).map((p) => p[0])]))].filter(Number.isInteger);
  useEffect(() => {
    if (!wanted.length) return undefined;
    return ask("/items/list", (page) => setFacts(new Map(page.items.map((i) => [i.item, i]))), undefined,
      { body: { items: wanted.slice(0, 1000) } });
  }, [wanted.join()]);
  return facts;
}
