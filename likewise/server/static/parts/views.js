// How results are laid out; the choice is in the address.
import { html } from "/static/vendor/preact-htm.js";

const VIEWS = [["", "Ranked"], ["sorted", "Sorted"], ["board", "Board"]];
const COUNTS = [100, 200, 500, 1000];

export function ViewPicker({ query, change }) {
  return html`<span class="views" role="group" aria-label="View">
    ${VIEWS.map(([view, name]) => html`<button key=${view} aria-pressed=${query.view === view ? "true" : "false"}
      onClick=${() => change({ ...query, view, k: 0 })}>${name}</button>`)}</span>
    ${query.view === "sorted" && html`<label>Show <select value=${query.k}
      onChange=${(event) => change({ ...query, k: Number(event.target.value) })}>
      ${[...new Set([...COUNTS, query.k])].sort((a, b) => a - b).map((k) => html`<option key=${k} value=${k}>${k}</option>`)}</select></label>`}`;
}
