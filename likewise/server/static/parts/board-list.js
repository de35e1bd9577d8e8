// The board as a list, nearest first: its twin for narrow screens and for those who prefer one.
import { html } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { distance, nth, order } from "/static/lib/board.js";
import { selected, toggle } from "/static/lib/selection.js";
import { said } from "/static/parts/board.js";

export function BoardList({ pieces, draft, at, setAt, acts, label }) {
  const chosen = useSignal(selected);
  const ranks = order(draft);
  const listed = [...pieces].sort((a, b) => distance(a.place) - distance(b.place) || a.item - b.item);
  return html`<ol class="board-list" aria-label=${label}>${listed.map((p) => {
    const rank = ranks.indexOf(p.item) + 1;
    const pinned = draft.pinned.includes(p.item);
    const button = (name, text, title) => acts[name] && html`<button title=${title} aria-label=${`${title}: ${p.name}`}
      onClick=${() => { setAt(p.item); acts[name]([p]); }}>${text}</button>`;
    return html`<li key=${p.item} class=${`row ${p.centre ? "query" : ""} ${rank ? "moved" : ""} ${chosen.has(p.item) ? "picked" : ""}`}>
      <button class="picture" data-item=${p.item} tabindex=${p.item === at ? 0 : -1} aria-label=${said(p, rank, ranks.length, pinned)}
        aria-pressed=${p.centre ? null : chosen.has(p.item) ? "true" : "false"} onFocus=${() => setAt(p.item)}
        onClick=${(event) => { setAt(p.item); if (!p.centre && (event.ctrlKey || event.metaKey || event.shiftKey)) toggle(p.item); else acts.open([p]); }}>
        ${p.thumbnail ? html`<img src=${p.thumbnail} alt="" />` : html`<span class="nothing">…</span>`}</button>
      <div class="row-side"><span class="row-says">${p.centre ? "What you search from" : draft.close.includes(p.item) ? `${nth(draft.close.indexOf(p.item) + 2)} closest` : rank ? `${nth(rank)} nearest of ${ranks.length} moved` : "not moved"}${pinned ? " · pinned" : ""}</span>
        ${!p.centre && html`<div class="row-acts">
          ${button("query", "From this", "Search from this")}${button("close", "Close too", "Close too")}
          ${button("closer", "Closer", "Closer")}${button("farther", "Farther", "Farther")}${pinned ? button("unpin", "Unpin", "Unpin") : button("pin", "Pin", "Pin")}
          ${button("discard", "Discard", "Discard")}${button("aside", "Not this", "Not this")}${button("found", "This is it", "This is it")}</div>`}
        ${p.centre && html`<div class="row-acts">${button("found", "This is it", "This is it")}</div>`}
      </div></li>`;
  })}</ol>`;
}
