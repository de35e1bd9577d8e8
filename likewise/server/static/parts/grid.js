// Photos in rows of one height, whole as they are.  A click opens one, ctrl, shift, a drag or a long press
// select; what can be done with a photo shows on the one that is pointed at, has the keyboard, or is pressed long.
import { html, useLayoutEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { useBand } from "/static/lib/band.js";
import { pick, selected } from "/static/lib/selection.js";
import { KEY, arrows, useKeys } from "/static/lib/keys.js";
import { markOf } from "/static/lib/query.js";
import { plural } from "/static/lib/format.js";

const GLIDE = { duration: 240, easing: "cubic-bezier(.2, .8, .2, 1)" };
const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const LONG = 450; // milliseconds of a long press
const SLIP = 10; // pixels that a finger may slip meanwhile

// How high the rows are: a habit of the person, not a part of the search.
const ROWS = "likewise-rows";
export function setRows(height) {
  localStorage.setItem(ROWS, height);
  document.documentElement.style.setProperty("--rows", `${height}px`);
}
if (Number(localStorage.getItem(ROWS))) setRows(Number(localStorage.getItem(ROWS)));

// acts: { judge(items, relevant), more(item), open(item), copies(item) }; those that are missing are not
// offered, and further(item) gives buttons of a screen's own.  moment: when it changes, what is shown
// glides to its new places and what is new glows.
export function Grid({ results, acts, label, compareWith, keyed = true, moment = "", details = false }) {
  const chosen = useSignal(selected);
  const [at, setAt] = useState(0); // the item that has the keyboard
  const list = useRef(null);
  const wanted = useRef(false);
  const place = useRef(0);
  const order = results.map((r) => r.item);
  const band = useBand(list, order);
  const fresh = useGlide(list, order, moment);
  // One that leaves hands the keyboard to the one that takes its place.
  const found = order.indexOf(at);
  const here = found < 0 ? Math.min(place.current, Math.max(0, results.length - 1)) : found;
  const lost = useRef(false);
  if (found < 0 && at && list.current?.querySelector(`[data-item="${at}"]`)?.contains(document.activeElement)) lost.current = true;
  useLayoutEffect(() => {
    place.current = here;
    if (lost.current) { lost.current = false; wanted.current = true; }
    if (!wanted.current) return;
    wanted.current = false;
    list.current?.children[here]?.querySelector(".picture")?.focus();
  });

  const inside = () => list.current?.contains(document.activeElement);
  const move = (to) => { wanted.current = true; setAt(order[inside() ? Math.max(0, Math.min(results.length - 1, to())) : here]); };
  const now = results[here];
  useKeys(pictureKeys({
    off: !keyed || !results.length, now, results, order, acts,
    right: () => move(() => here + 1), left: () => move(() => here - 1),
    down: () => move(() => nextRow(list.current, here, 1)), up: () => move(() => nextRow(list.current, here, -1)),
  }));
  return html`<ul class="rows" ref=${list} aria-label=${label} onPointerDown=${band.down}>
    ${results.map((r, nth) => html`<${Card} key=${r.item} r=${r} place=${nth} current=${nth === here} fresh=${fresh.has(r.item)}
      picked=${chosen.has(r.item)} acts=${acts} targets=${(one) => withSelection(one, results)} was=${compareWith?.get(r.item)} compared=${!!compareWith}
      details=${details} onFocus=${() => setAt(r.item)} order=${order} />`)}
  </ul>${band.box && html`<div class="band" style=${band.box}></div>`}`;
}

// The card below (or above) that is nearest to a card's middle.
function nextRow(list, here, way) {
  const cards = [...list.children];
  const middle = (card) => card.offsetLeft + card.offsetWidth / 2;
  const tops = [...new Set(cards.map((card) => card.offsetTop))];
  const row = tops[tops.indexOf(cards[here].offsetTop) + way];
  if (row === undefined) return here;
  const near = cards.map((card, at) => [at, Math.abs(middle(card) - middle(cards[here]))]).filter(([at]) => cards[at].offsetTop === row);
  return near.sort((a, b) => a[1] - b[1])[0][0];
}

// Where everything stood is read while the next list is being made; then each glides from there.
function useGlide(list, order, moment) {
  const last = useRef({ moment, order });
  const fresh = useRef(new Set());
  const turned = last.current.moment !== moment;
  const stood = new Map();
  if (turned && list.current) {
    const before = last.current.order;
    for (const [at, child] of [...list.current.children].entries()) stood.set(before[at], [child.offsetLeft, child.offsetTop]);
    fresh.current = new Set(before.length ? order.filter((item) => !stood.has(item)) : []);
  }
  useLayoutEffect(() => {
    last.current = { moment, order };
    if (!turned || STILL.matches) return;
    for (const [at, child] of [...list.current.children].entries()) {
      const from = stood.get(order[at]);
      const [dx, dy] = from ? [from[0] - child.offsetLeft, from[1] - child.offsetTop] : [0, 0];
      if (dx || dy) child.animate([{ transform: `translate(${dx}px, ${dy}px)` }, { transform: "none" }], GLIDE);
    }
  });
  return fresh.current;
}

// What is done to a photo is done to the selection when the photo is part of it.
const withSelection = (one, results) =>
  selected.value.has(one.item) ? results.filter((r) => selected.value.has(r.item)) : [one];

// The keys of every view that shows photos in rows.
export const pictureKeys = ({ off, now, results, order, acts, ...ways }) => [
  ...arrows({ off, ...ways }),
  { ...KEY.select, off, run: () => pick(now.item, order, { ctrl: true }) },
  { ...KEY.right, off: off || !acts.judge, run: () => acts.judge(withSelection(now, results), true) },
  { ...KEY.wrong, off: off || !acts.judge, run: () => acts.judge(withSelection(now, results), false) },
  { ...KEY.similar, off: off || !acts.more, run: () => acts.more(now) },
  { ...KEY.open, off: off || !acts.open, run: () => acts.open(now) },
];

// A click opens; with ctrl or shift it selects.  A finger that rests on one selects it, and shows what can be
// done; while some are selected a tap selects too.
let rested = false;
export function pressing({ r, order, open }) {
  return {
    onClick: (event) => {
      const [shift, ctrl] = [event.shiftKey, event.ctrlKey || event.metaKey];
      const finger = event.pointerType && event.pointerType !== "mouse";
      if (finger && rested) return; // it was lifted
      if (shift || ctrl || (finger && selected.value.size)) pick(r.item, order, { shift, ctrl: !shift });
      else open?.(r);
    },
    onPointerDown: ({ currentTarget: picture, pointerType, clientX, clientY }) => {
      rested = false;
      if (pointerType === "mouse") return;
      const stop = new AbortController();
      const timer = setTimeout(() => { rested = true; picture.focus(); pick(r.item, order, { ctrl: true }); }, LONG);
      const end = (event) => {
        if (event.type === "pointermove" && Math.hypot(event.clientX - clientX, event.clientY - clientY) < SLIP) return;
        clearTimeout(timer);
        stop.abort();
      };
      for (const name of ["pointerup", "pointercancel", "pointermove"]) picture.addEventListener(name, end, { signal: stop.signal });
    },
    onContextMenu: (event) => { if (event.pointerType !== "mouse") event.preventDefault(); },
  };
}

export const ratioOf = (r) => Math.max(0.4, Math.min(4, (r.width || 4) / (r.height || 3)));

function Card({ r, place, current, fresh, picked, acts, targets, was, compared, details, onFocus, order }) {
  const tab = current ? 0 : -1;
  const marked = markOf(r);
  const score = r.score === undefined ? "" : r.score.toPrecision(3);
  const agree = r.inliers > 0 ? `, ${r.inliers} places agree` : "";
  const found = details && r.found_by?.length ? `\nfound by ${r.found_by.join(" and ")}` : "";
  const judge = (relevant) => (event) => acts.judge(targets(r), relevant, event);
  // The event is written small: nothing listens to "FocusIn".
  return html`<li class=${`card ${picked ? "picked" : ""} ${marked} ${fresh ? "new" : ""}`} data-item=${r.item} style=${{ "--ratio": ratioOf(r) }} onfocusin=${onFocus}>
    <button class="picture" tabindex=${tab} aria-pressed=${picked ? "true" : "false"} ...${pressing({ r, order, open: acts.open })}
      title=${`${r.name}${found}`} aria-label=${`${place + 1}: ${r.name}${marked && `, marked ${marked}`}${agree}`}>
      ${r.thumbnail ? html`<img src=${r.thumbnail} alt="" loading="lazy" decoding="async" draggable=${false} />` : html`<span class="nothing">…</span>`}
    </button>
    ${marked && html`<span class="mark" aria-hidden="true">${marked === "right" ? "✓" : "✗"}</span>`}
    ${r.copies?.length > 0 && html`<button class="badge" tabindex=${tab} title=${`${plural(r.copies.length, "copy", "copies")} of it`}
      aria-label=${`Show ${plural(r.copies.length, "copy", "copies")} of ${r.name}`} onClick=${() => acts.copies?.(r)}>+${r.copies.length}</button>`}
    ${r.inliers > 0 && html`<span class="badge" title="places that agree on one view change">${r.inliers} agree</span>`}
    ${compared && html`<span class="badge moved">${movement(was, place)}</span>`}
    ${details && score && html`<span class="score" aria-hidden="true">${score}</span>`}
    <div class="acts">
      ${acts.judge && html`
        <button tabindex=${tab} class="yes" aria-pressed=${marked === "right" ? "true" : "false"} title="Right (R); press again to take it back"
          aria-label=${`Right: ${r.name}`} onClick=${judge(true)}>✓</button>
        <button tabindex=${tab} class="no" aria-pressed=${marked === "wrong" ? "true" : "false"} title="Wrong (N); press again to take it back"
          aria-label=${`Wrong: ${r.name}`} onClick=${judge(false)}>✗</button>`}
      <span class="gap"></span>
      ${acts.further?.(r).map(([words, run]) => html`<button key=${words} tabindex=${tab} aria-label=${`${words}: ${r.name}`} onClick=${run}>${words}</button>`)}
      ${acts.more && html`<button tabindex=${tab} title="Search for similar ones (M)" aria-label=${`Similar to ${r.name}`}
        onClick=${() => acts.more(r)}>Similar</button>`}
    </div>
  </li>`;
}

const movement = (was, place) =>
  was === undefined ? "new" : was === place ? "=" : was > place ? `▲ ${was - place}` : `▼ ${place - was}`;
