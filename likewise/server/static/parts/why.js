// Why a result is there: the share of each block in its score, as bars with numbers.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { ask } from "/static/lib/api.js";
import { request } from "/static/lib/query.js";
import { plural } from "/static/lib/format.js";

const EVIDENCE = { picture: "the pictures", taught: "what was taught", marks: "your marks", text: "the words" };

export function Why({ query, item, model }) {
  const [found, setFound] = useState(null);
  useEffect(() => ask("/why", setFound, (error) => setFound({ error: error.message }),
    { body: { ...request(query, model), item } }), [item, model]);
  if (!found) return html`<p class="soft">Asking why …</p>`;
  if (found.error) return html`<p>${found.error}</p>`;
  const blocks = Object.entries(found.blocks).filter(([, share]) => Math.abs(share) > 1e-4);
  const told = Object.entries(found.parts).map(([name, share]) => `${share.toFixed(3)} from ${EVIDENCE[name]}`);
  const most = Math.max(1e-9, ...blocks.map(([, share]) => Math.abs(share)));
  return html`<section class="why" aria-label="Why it is here">
    <h3>Why it is here</h3>
    ${blocks.length > 0 && html`<table><tbody>${blocks.map(([name, share]) => html`<tr key=${name}>
      <th scope="row">${name}</th>
      <td><meter min="0" max=${most} value=${Math.abs(share)} aria-label=${name}></meter></td>
      <td class="number">${share.toFixed(3)}</td></tr>`)}</tbody></table>`}
    ${told.length > 1 && html`<p class="soft">Of its score ${told.join(", ")}.</p>`}
    ${found.words.length > 0 && html`<p>Words it carries: <b>${found.words.join(", ")}</b></p>`}
    ${found.looks_like.length > 0 && html`<p>Because it looks like <b>${found.looks_like.join(", ")}</b></p>`}
    ${found.learned_words.length > 0 && html`<p>Words that were understood: <b>${found.learned_words.join(", ")}</b>
      <span class="soft"> (by ${found.reader})</span></p>`}
    ${found.clicks > 0 && html`<p>Chosen for this query ${plural(found.clicks, "time")}.</p>`}
    <p class="soft">Ranked by ${found.model}${found.marks ? ` and ${plural(found.marks, "mark")} on this query` : ""}.</p>
  </section>`;
}
