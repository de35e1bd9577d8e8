// Photos to begin from: which is closest to the one you look for?
import { html } from "/static/vendor/preact-htm.js";
import { useKeys } from "/static/lib/keys.js";
import { Grid } from "/static/parts/grid.js";
import { useShelf, view } from "/static/parts/viewer.js";

const CLOSEST = "Closest";
const FOUND = "This is it";

export function Gallery({ pictures, choose, found, busy, label }) {
  const at = () => pictures.find((p) => String(p.item) === document.activeElement?.closest(".card")?.dataset.item) || pictures[0];
  const off = busy || !pictures.length;
  useKeys([
    { keys: ["q"], shown: "Q", says: "closest: search from this photo", off, run: () => choose(at()) },
    { keys: ["i"], shown: "I", says: "this is it: found", off, run: () => found(at()) },
  ]);
  useShelf({ items: pictures, more: off ? [] : [[CLOSEST, choose], [FOUND, found]] });
  const acts = { open: view, further: (p) => (off ? [] : [[CLOSEST, () => choose(p)], [FOUND, () => found(p)]]) };
  return html`<div class="gallery"><${Grid} results=${pictures} acts=${acts} label=${label} /></div>`;
}
