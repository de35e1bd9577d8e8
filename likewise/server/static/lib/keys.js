// Keys: one table for what is done to photos, so that a key means the same on every screen; and every
// screen says which it has, so that the list of keys can never be wrong.
import { useLayoutEffect, useRef } from "/static/vendor/preact-htm.js";
import { signal } from "/static/lib/signal.js";

export const KEY = {
  right: { keys: ["r", "y"], shown: "R", says: "right: more of this" },
  wrong: { keys: ["n"], shown: "N", says: "wrong: not this" },
  similar: { keys: ["m"], shown: "M", says: "search for similar ones" },
  open: { keys: ["v"], shown: "V", says: "open the photo, or close it" },
  select: { keys: ["x", " "], shown: "X, space", says: "select the photo, or not" },
  all: { keys: ["a"], shown: "A", says: "select all" },
  none: { keys: ["Escape"], shown: "Esc", says: "select none" },
  undo: { keys: ["u"], shown: "U", says: "undo the last mark" },
};

// The four arrows: to another photo.
export const arrows = ({ off, right, left, down, up }) => [
  { keys: ["ArrowRight"], shown: "arrows", says: "to another photo", off, run: right },
  { keys: ["ArrowLeft"], off, run: left },
  { keys: ["ArrowDown"], off: off || !down, run: down },
  { keys: ["ArrowUp"], off: off || !up, run: up },
];

const layers = [];
export const helpOpen = signal(false);

const typing = (target, key) =>
  target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName) ||
  (target.tagName === "INPUT" && (target.type === "range" ? /^(Arrow|Page|Home|End)/.test(key) : !["checkbox", "radio", "button"].includes(target.type)));

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key !== "Escape" && typing(event.target, event.key)) return;
  const open = document.querySelector("dialog:modal, dialog.viewer[open]");
  for (const layer of [...layers].reverse()) {
    if (open && !layer.inDialog) continue;
    const found = layer.list().find((k) => k.keys.includes(event.key) && !k.off);
    if (!found) continue;
    // A button that has the focus keeps space and enter for itself, but on a photo space selects.
    const own = event.target.closest?.("button, a, summary, select");
    if (own && (event.key === "Enter" || (event.key === " " && !own.matches(".picture")))) return;
    event.preventDefault();
    found.run(event);
    return;
  }
});

// list: [{ keys: ["r"], shown: "R", says: "right", run }]
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
