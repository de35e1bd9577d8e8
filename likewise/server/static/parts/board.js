// The board: pictures around the query.  Drag one, or lasso several and drag them; the rings show
// the order that this means.  Keys and the buttons beside it do the same.
import { html, useLayoutEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { distance, enclosed, nth, onBoard, order } from "/static/lib/board.js";
import { pick, selectNone, selected } from "/static/lib/selection.js";

const GUIDES = [0.17, 0.33, 0.49];
const SLACK = 4; // pixels before a press becomes a drag

// pieces: from standing(); at: the item that has the keyboard; move(places): what a drag means.
export function Board({ pieces, draft, side, at, setAt, move, open, label }) {
  const box = useRef(null);
  const press = useRef(null);
  const [drag, setDrag] = useState(null);
  const [lasso, setLasso] = useState(null);
  const chosen = useSignal(selected);
  const free = pieces.filter((p) => !p.centre).map((p) => p.item);

  const choose = (event, p) => {
    const [shift, ctrl] = [event.shiftKey, event.ctrlKey || event.metaKey];
    if (shift || ctrl) { if (!p.centre) pick(p.item, free, { shift, ctrl }); } else open(p);
  };
  const point = (event) => {
    const frame = box.current.getBoundingClientRect();
    return [(event.clientX - frame.left) / frame.width, (event.clientY - frame.top) / frame.height];
  };
  const stop = () => { press.current = null; setDrag(null); setLasso(null); };
  const down = (event) => {
    if (event.button || press.current) return;
    const item = Number(event.target.closest?.(".piece")?.dataset.item) || null;
    const centre = pieces.find((p) => p.item === item)?.centre;
    const items = !item || centre ? [] : selected.value.has(item) ? free.filter((i) => selected.value.has(i)) : [item];
    press.current = { item, items, from: point(event), x: event.clientX, y: event.clientY, going: false };
  };
  const go = (event) => {
    const now = press.current;
    if (!now || (now.item && !now.items.length) || (now.items.length && !move)) return;
    if (!now.going && Math.hypot(event.clientX - now.x, event.clientY - now.y) < SLACK) return;
    if (!now.going) {
      now.going = true;
      box.current.setPointerCapture(event.pointerId);
      now.outline = [now.from];
    }
    const to = point(event);
    if (now.items.length) setDrag({ items: now.items, by: [to[0] - now.from[0], to[1] - now.from[1]] });
    else { now.outline.push(to); setLasso([...now.outline]); }
  };
  const up = () => {
    const now = press.current;
    if (now?.going && drag) move(Object.fromEntries(pieces.filter((p) => drag.items.includes(p.item)).map((p) => [p.item, dropped(p)])));
    if (now?.going && lasso) selected.value = new Set(pieces.filter((p) => !p.centre && enclosed(p.place, lasso)).map((p) => p.item));
    if (now && !now.going && !now.item) selectNone();
    if (now?.going) addEventListener("click", swallow, { capture: true, once: true });
    setTimeout(() => removeEventListener("click", swallow, { capture: true }), 0);
    stop();
  };
  const dropped = (p) => onBoard([p.place[0] + drag.by[0], p.place[1] + drag.by[1]]);
  useLayoutEffect(() => {
    const escape = (event) => { if (event.key === "Escape" && press.current) { event.preventDefault(); stop(); } };
    addEventListener("keydown", escape, { capture: true });
    return () => removeEventListener("keydown", escape, { capture: true });
  }, []);

  // While a drag goes on, rings and numbers already say what letting go would mean.
  const meant = drag ? { ...draft, moved: { ...draft.moved, ...Object.fromEntries(pieces.filter((p) => drag.items.includes(p.item)).map((p) => [p.item, dropped(p)])) } } : draft;
  const ranks = order(meant);
  return html`<div class=${`board ${drag ? "dragging" : ""}`} ref=${box} role="group" aria-label=${label}
      onPointerDown=${down} onPointerMove=${go} onPointerUp=${up} onPointerCancel=${stop}>
    <svg class="rings" viewBox="0 0 1 1" aria-hidden="true">
      ${GUIDES.map((r) => html`<circle key=${`g${r}`} class="guide" cx="0.5" cy="0.5" r=${r} />`)}
      ${ranks.map((item) => html`<circle key=${item} class=${drag?.items.includes(item) ? "now" : ""} cx="0.5" cy="0.5" r=${distance(meant.moved[item])} />`)}
      ${lasso && html`<path class="lasso" d=${`M${lasso.map((p) => p.join(" ")).join("L")}Z`} />`}
    </svg>
    ${pieces.map((p) => html`<${Piece} key=${p.item} p=${p} side=${side} place=${drag?.items.includes(p.item) ? dropped(p) : p.place}
      held=${!!drag?.items.includes(p.item)} rank=${ranks.indexOf(p.item) + 1} of=${ranks.length} pinned=${draft.pinned.includes(p.item)}
      picked=${chosen.has(p.item)} current=${p.item === at} onFocus=${() => setAt(p.item)}
      onPick=${(event) => { setAt(p.item); choose(event, p); }} />`)}
  </div>`;
}

function swallow(event) {
  event.preventDefault();
  event.stopPropagation();
}

export const said = (p, rank, of, pinned) =>
  [p.name, p.centre && "what you search from", rank > 0 && `${nth(rank)} nearest of ${of} moved`, pinned && "pinned"].filter(Boolean).join(", ");

const percent = (x) => `${(100 * x).toFixed(3)}%`;

function Piece({ p, side, place, held, rank, of, pinned, picked, current, onFocus, onPick }) {
  const self = useRef(null);
  // A piece that is new fades in; one that was there glides to its place (see board.css).
  useLayoutEffect(() => { if (current && document.activeElement === document.body) self.current.focus({ preventScroll: true }); }, [current]);
  const kind = [p.centre && "query", held && "held", picked && "picked", rank > 0 && "moved", current && "at-hand"].filter(Boolean).join(" ");
  return html`<button ref=${self} class=${`piece ${kind}`} data-item=${p.item} tabindex=${current ? 0 : -1} title=${p.name}
      style=${{ left: percent(place[0]), top: percent(place[1]), width: percent(p.centre ? 1.12 * side : side) }}
      aria-label=${said(p, rank, of, pinned)} aria-pressed=${p.centre ? null : picked ? "true" : "false"}
      onFocus=${onFocus} onClick=${onPick}>
    ${p.thumbnail ? html`<img src=${p.thumbnail} alt="" draggable=${false} />` : html`<span class="nothing">…</span>`}
    ${rank > 0 && html`<span class="rank" aria-hidden="true">${rank}</span>`}
    ${pinned && html`<svg class="pin" viewBox="0 0 20 20" aria-hidden="true"><path d="M7 2h6l-1 6 3 3v1H5v-1l3-3z M9.3 12h1.4v6l-.7 1-.7-1z" /></svg>`}
  </button>`;
}
