// Keys: every screen says which it has, so that the list of keys can never be wrong.
import { useLayoutEffect, useRef } from "/static/vendor/preact-htm.js";
import { signal } from "/static/lib/signal.js";

const layers = [];
export const helpOpen = signal(false);

const typing = (target) =>
  target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName) ||
  (target.tagName === "INPUT" && !["checkbox", "radio", "button", "range"].includes(target.type));

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (typing(event.target) && event.key !== "Escape") return;
  const open = document.querySelector("dialog[open]");
  for (const layer of [...layers].reverse()) {
    if (open && !layer.inDialog) continue;
    const found = layer.list().find((k) => k.keys.includes(event.key) && !k.off);
    if (!found) continue;
    // A button that has the focus keeps space and enter for itself.
    if ([" ", "Enter"].includes(event.key) && event.target.closest?.("button, a, summary, select")) return;
    event.preventDefault();
    found.run(event);
    return;
  }
});

// list: [{ keys: ["r"], shown: "R", says: "relevant", run }]
export function useKeys(list, { inDialog = false } = {}) {
  const latest = useRef(list);
  latest.current = list;
  useLayoutEffect(() => { // before the paint: who sees a screen can use its keys
    const layer = { list: () => latest.current, inDialog };
    layers.push(layer);
    return () => layers.splice(layers.indexOf(layer), 1);
  }, []);
}

export const listed = () =>
  layers.flatMap((layer) => layer.list()).filter((k) => k.says && !k.off);
