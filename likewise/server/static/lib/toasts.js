// Short notices at the foot of the page, announced to screen readers too, each with an action where there is one.
import { html } from "/static/vendor/preact-htm.js";
import { signal, useSignal } from "/static/lib/signal.js";

const toasts = signal([]);
let number = 0;

export function say(text, { action, run, lasting = 6000, bad = false } = {}) {
  const toast = { id: ++number, text, action, run, bad };
  toasts.value = [...toasts.value.filter((t) => t.text !== text), toast].slice(-3);
  if (lasting) setTimeout(() => unsay(toast.id), lasting);
  return toast.id;
}

export function unsay(id) {
  toasts.value = toasts.value.filter((t) => t.id !== id);
}

export const complain = (error) => say(error.message, { bad: true, lasting: 10000 });

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
