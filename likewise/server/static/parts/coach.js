// Three steps for whoever is here for the first time: pick one, say ✓ or ✗, see it change.  The first
// mark ends it, anybody may close it, and it never comes back.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { look, status, ticks } from "/static/lib/news.js";

const KEPT = "likewise-coached";
const STEPS = [
  ["Pick one", "Point at a photo below (a finger rests on it) and press Similar; or type words above, or drop a photo anywhere."],
  ["Say ✓ or ✗", "Point at a photo (a finger rests on it) and press ✓ if it is what you look for, ✗ if not."],
  ["See it change", "The photos below are in a new order: this search has learned from you."],
];

export function Coach({ path }) {
  const at = useSignal(status);
  const said = useSignal(ticks.judgements);
  const [began, setBegan] = useState(null); // marks that there were when it began
  const [over, setOver] = useState(() => localStorage.getItem(KEPT) !== null);
  const end = () => { localStorage.setItem(KEPT, "1"); setOver(true); };
  useEffect(() => { if (at && began === null) setBegan(at.judgements); }, [at]);
  useEffect(() => { if (!over && began === 0) look(); }, [said]);
  const marked = at?.judgements > 0;
  useEffect(() => { if (marked) localStorage.setItem(KEPT, "1"); }, [marked]);
  const step = marked ? 2 : path === "/results" ? 1 : 0;
  useEffect(() => { if (marked && path !== "/results") setOver(true); }, [path]);
  if (over || began !== 0 || !at?.findable || !["/", "/results"].includes(path)) return null;
  return html`<aside class="coach" aria-label="First steps" role="status">
    <ol>${STEPS.map(([name], nth) => html`<li key=${name} aria-current=${nth === step ? "step" : null}>${name}</li>`)}</ol>
    <p>${STEPS[step][1]}</p>
    <button class="quiet" onClick=${end} aria-label=${step === 2 ? "Good: close the first steps" : "Close the first steps"}>${step === 2 ? "Good" : "×"}</button>
  </aside>`;
}
