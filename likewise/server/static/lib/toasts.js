// Short notices at the foot of the page, each with an action where there is one to offer.
import { signal } from "/static/lib/signal.js";

export const toasts = signal([]);
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
