// Why a result is there: three bars in words; the numbers behind them lie under details.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { ask } from "/static/lib/api.js";
import { request } from "/static/lib/query.js";
import { plural } from "/static/lib/format.js";
import { lookName } from "/static/lib/words.js";

const EVIDENCE = { picture: "the pictures", taught: "what was taught", marks: "your marks", used: "your earlier feedback", text: "the words" };
const BARS = 3;
const capital = (text) => text[0].toUpperCase() + text.slice(1);

// The largest shares: of the look by kind, and what your feedback adds.
function bars(found) {
  const looks = Object.entries(found.blocks).filter(([name]) => !/^\d|^word/.test(name)).map(([name, share]) => [capital(lookName(name)), share]);
  const said = [["From your feedback", found.parts.marks], ["From your earlier feedback", found.parts.used]].filter(([, share]) => share > 0);
  const taught = found.parts.taught > 0 ? [["What was taught", found.parts.taught]] : [];
  const words = found.words.length || found.learned_words.length ? [["The words", found.parts.text || 0]] : [];
  const rest = [...looks.filter(([, share]) => share > 0).sort((a, b) => b[1] - a[1]), ...taught];
  const out = [...rest.slice(0, BARS - said.length), ...said].sort((a, b) => b[1] - a[1]);
  return out.length ? out : words;
}

export function Why({ query, item, model }) {
  const [found, setFound] = useState(null);
  useEffect(() => { setFound(null); return ask("/why", setFound, (error) => setFound({ error: error.message }), { body: { ...request(query, model), item } }); }, [item, model]);
  if (!found) return html`<section class="why"><p class="soft">Asking why …</p></section>`;
  if (found.error) return html`<p>${found.error}</p>`;
  const shown = bars(found);
  const most = Math.max(1e-9, ...shown.map(([, share]) => share));
  const whole = Math.max(most, ...(found.score > 0 ? [found.score] : []));
  const blocks = Object.entries(found.blocks).filter(([, share]) => Math.abs(share) > 1e-4);
  const told = Object.entries(found.parts).map(([name, share]) => `${share.toFixed(3)} from ${EVIDENCE[name]}`);
  return html`<section class="why" aria-label="Why it is here">
    <h3>Why it is here</h3>
    ${shown.map(([name, share]) => html`<div key=${name}>${name} <span class="number soft">${Math.round((100 * share) / whole)} %</span>
      <span class="bar-track" role="img" aria-label=${`${name} ${Math.round((100 * share) / whole)} %`}><span style=${{ width: `${(100 * share) / most}%` }}></span></span></div>`)}
    ${found.words.length > 0 && html`<p>Words it carries: <b>${found.words.join(", ")}</b></p>`}
    ${found.looks_like.length > 0 && html`<p>Because it looks like <b>${found.looks_like.join(", ")}</b></p>`}
    ${found.learned_words.length > 0 && html`<p>Words that were understood: <b>${found.learned_words.join(", ")}</b></p>`}
    ${found.clicks > 0 && html`<p>Opened in this search ${plural(found.clicks, "time")}.</p>`}
    <details class="numbers-behind"><summary>Details</summary>
      ${blocks.length > 0 && html`<table><tbody>${blocks.map(([name, share]) => html`<tr key=${name}>
        <th scope="row">${name}</th><td class="number">${share.toFixed(3)}</td></tr>`)}</tbody></table>`}
      ${told.length > 1 && html`<p class="soft">Of its score ${told.join(", ")}.</p>`}
      <p class="soft">Ranked by ${found.model}${found.reader ? `, words read by ${found.reader}` : ""}${found.marks ? ` and ${plural(found.marks, "mark")} on this search` : ""}.</p>
    </details>
  </section>`;
}
