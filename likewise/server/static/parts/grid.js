// Pictures in rows.  One card has the keyboard at a time; arrows move it.
import { html, useLayoutEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { pick, selected } from "/static/lib/selection.js";
import { useKeys } from "/static/lib/keys.js";

// acts: { judge(item, relevant), more(item), open(item) }; those that are missing are not offered.
export function Grid({ results, acts, label, compareWith, keyed = true }) {
  const chosen = useSignal(selected);
  const [at, setAt] = useState(0);
  const list = useRef(null);
  const wanted = useRef(false);
  const order = results.map((r) => r.item);
  const here = Math.min(at, Math.max(0, results.length - 1));
  useLayoutEffect(() => {
    if (!wanted.current) return;
    wanted.current = false;
    list.current?.children[here]?.querySelector(".picture")?.focus();
  });

  const move = (step) => { wanted.current = true; setAt(Math.max(0, Math.min(results.length - 1, here + step))); };
  const columns = () => {
    const cards = [...(list.current?.children || [])];
    const below = cards.findIndex((card) => card.offsetTop > cards[0].offsetTop);
    return below < 0 ? cards.length : below;
  };
  const inside = () => list.current?.contains(document.activeElement);
  const now = results[here];
  const off = !keyed || !results.length;
  const step = (by) => () => move(inside() ? by() : 0);
  useKeys(pictureKeys({
    off, now, results, order, acts,
    right: step(() => 1), left: step(() => -1), down: step(columns), up: step(() => -columns()),
  }));
  const targets = (one) => withSelection(one, results);

  return html`<ul class="grid" ref=${list} aria-label=${label}>
    ${results.map((r, place) => html`<${Card} key=${r.item} r=${r} place=${place} current=${place === here}
      picked=${chosen.has(r.item)} acts=${acts} targets=${targets} was=${compareWith?.get(r.item)} compared=${!!compareWith}
      onFocus=${() => setAt(place)} onPick=${(event) => pick(r.item, order, { shift: event.shiftKey, ctrl: event.ctrlKey || event.metaKey })} />`)}
  </ul>`;
}

// What is done to a picture is done to the selection when the picture is part of it.
const withSelection = (one, results) =>
  selected.value.has(one.item) ? results.filter((r) => selected.value.has(r.item)) : [one];

// The keys of every view that shows pictures in rows.
export const pictureKeys = ({ off, now, results, order, acts, right, left, down, up }) => [
  { keys: ["ArrowRight"], shown: "arrows", says: "to another picture", off, run: right },
  { keys: ["ArrowLeft"], off, run: left },
  { keys: ["ArrowDown"], off, run: down },
  { keys: ["ArrowUp"], off, run: up },
  { keys: ["x"], shown: "X, space", says: "select the picture, or not", off, run: () => pick(now.item, order, { ctrl: true }) },
  { keys: ["r"], shown: "R", says: "relevant: more of this", off: off || !acts.judge, run: () => acts.judge(withSelection(now, results), true) },
  { keys: ["n"], shown: "N", says: "not this", off: off || !acts.judge, run: () => acts.judge(withSelection(now, results), false) },
  { keys: ["m"], shown: "M", says: "search for more like this", off: off || !acts.more, run: () => acts.more(now) },
  { keys: ["v"], shown: "V", says: "view large, crop, and why it is here", off: off || !acts.open, run: () => acts.open(now) },
];

export const markOf = (r) => (r.mark === null || r.mark === undefined ? "" : r.mark > 0 ? "right" : "wrong");

function Card({ r, place, current, picked, acts, targets, was, compared, onFocus, onPick }) {
  const tab = current ? 0 : -1;
  const marked = markOf(r);
  const score = r.score === undefined ? "" : r.score.toPrecision(3);
  const agree = r.inliers > 0 ? `, ${r.inliers} places agree` : "";
  const by = (r.found_by?.length ? `, found by ${r.found_by.join(" and ")}` : "") + agree;
  // The event is written small: nothing listens to "FocusIn".
  return html`<li class=${`card ${picked ? "picked" : ""} ${marked}`} onfocusin=${onFocus}>
    <div class="shown"><button class="picture" tabindex=${tab} aria-pressed=${picked ? "true" : "false"} onClick=${onPick}
      onDblClick=${() => acts.open?.(r)} title=${`${r.name}${score && `\nscore ${score}${by}`}`}
      aria-label=${`${place + 1}: ${r.name}${marked && `, marked ${marked}`}${agree}`}>
      ${r.thumbnail ? html`<img src=${r.thumbnail} alt="" loading="lazy" decoding="async" />` : html`<span class="nothing">…</span>`}
      </button>
      ${r.copies?.length > 0 && html`<span class="badge" title="near-duplicates folded in">+${r.copies.length}</span>`}
      ${r.inliers > 0 && html`<span class="badge" title="places that agree on one view change">${r.inliers} agree</span>`}
      ${compared && html`<span class="badge moved">${movement(was, place)}</span>`}
      ${marked && html`<span class=${`mark ${marked}`} aria-hidden="true">${marked === "right" ? "✓" : "✗"}</span>`}
      ${score && html`<span class="score" aria-hidden="true">${score}</span>`}
    </div>
    <div class="acts">
      ${acts.judge && html`
        <button tabindex=${tab} class="yes" aria-pressed=${marked === "right" ? "true" : "false"} title="Relevant (R)"
          aria-label=${`Relevant: ${r.name}`} onClick=${() => acts.judge(targets(r), true)}>✓</button>
        <button tabindex=${tab} class="no" aria-pressed=${marked === "wrong" ? "true" : "false"} title="Not this (N)"
          aria-label=${`Not this: ${r.name}`} onClick=${() => acts.judge(targets(r), false)}>✗</button>`}
      ${acts.more && html`<button tabindex=${tab} title="More like this (M)" aria-label=${`More like ${r.name}`}
        onClick=${() => acts.more(r)}>≈</button>`}
      ${acts.open && html`<button tabindex=${tab} title="View, crop, why (V)" aria-label=${`View ${r.name}`}
        onClick=${() => acts.open(r)}>⤢</button>`}
    </div>
  </li>`;
}

const movement = (was, place) =>
  was === undefined ? "new" : was === place ? "=" : was > place ? `▲ ${was - place}` : `▼ ${place - was}`;
