// What was said for this search, in one line: each mark with its photo, to be taken back where it is seen;
// and what came of it: how many are new, and how it was before while one holds the button.
import { html } from "/static/vendor/preact-htm.js";
import { plural } from "/static/lib/format.js";

const SHOWN = 8;
const FIRST = 20;

// How many of the first are there only because of the feedback.
export function news(results, before) {
  const n = Math.min(FIRST, results.length);
  const stood = new Set(before.slice(0, n).map((r) => r.item));
  return [results.slice(0, n).filter((r) => !stood.has(r.item)).length, n];
}

export function Feedback({ feedback, release, clear, changed, hold }) {
  if (!feedback.length) return null;
  const right = feedback.filter((f) => f.value > 0).length;
  const wrong = feedback.length - right;
  const keys = (down) => (event) => { if ([" ", "Enter"].includes(event.key)) { event.preventDefault(); hold(down); } };
  return html`<div class="feedback" role="group" aria-label="Your feedback on this search">
      ${feedback.slice(-SHOWN).map((f) => html`<button key=${f.item} class=${f.value > 0 ? "right" : "wrong"} title=${`${f.value > 0 ? "✓" : "✗"} ${f.name}: take it back`}
        aria-label=${`Take back ${f.value > 0 ? "right" : "wrong"}: ${f.name}`} onClick=${() => release([f])}>
        ${f.thumbnail && html`<img src=${f.thumbnail} alt="" />`}</button>`)}
      <span>Your feedback: <b>${right} ✓${wrong > 0 && ` ${wrong} ✗`}</b></span>
      <button class="link" onClick=${clear}>Clear</button>
    </div>
    ${changed && html`<span class="changed" role="status">${changed[0]} of the first ${changed[1]} ${changed[0] === 1 ? "is" : "are"} new</span>
      <button class="link hold" onPointerDown=${(e) => { e.preventDefault(); hold(true); }} onPointerUp=${() => hold(false)} onPointerLeave=${() => hold(false)}
        onPointerCancel=${() => hold(false)} onContextMenu=${(e) => e.preventDefault()} onKeyDown=${keys(true)} onKeyUp=${keys(false)} onBlur=${() => hold(false)}>Hold to see before</button>`}`;
}

export const said = (n, relevant) => `${plural(n, "photo")} marked ${relevant ? "right" : "wrong"}.`;
