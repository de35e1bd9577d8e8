// Notices, announced to screen readers too.
import { html } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { toasts, unsay } from "/static/lib/toasts.js";

export function Toasts() {
  const list = useSignal(toasts);
  const act = (toast) => { unsay(toast.id); toast.run(); };
  return html`<div class="toasts" role="status" aria-live="polite">${list.map((t) => html`
    <div class=${`toast ${t.bad ? "bad" : ""}`} key=${t.id}>
      <span>${t.text}</span>
      ${t.action && html`<button onClick=${() => act(t)}>${t.action}</button>`}
      <button class="quiet" aria-label="Dismiss" onClick=${() => unsay(t.id)}>×</button>
    </div>`)}</div>`;
}
