// One way to select on every screen: click, shift for a run, ctrl for one more, all, none.
import { signal } from "/static/lib/signal.js";

export const selected = signal(new Set());
let anchor = null;

export function pick(item, order, { shift = false, ctrl = false } = {}) {
  const next = new Set(shift || ctrl ? selected.value : []);
  if (shift && anchor !== null && order.includes(anchor)) {
    const [from, to] = [order.indexOf(anchor), order.indexOf(item)].sort((a, b) => a - b);
    for (const one of order.slice(from, to + 1)) next.add(one);
  } else {
    const only = selected.value.size === 1 && selected.value.has(item);
    if (ctrl ? next.has(item) : only) next.delete(item);
    else next.add(item);
    anchor = item;
  }
  selected.value = next;
}

export function toggle(item) {
  pick(item, [], { ctrl: true });
}

export function selectAll(order) {
  selected.value = new Set(order);
}

export function selectNone() {
  anchor = null;
  if (selected.value.size) selected.value = new Set();
}
