// Plots of what was measured, drawn as SVG from the numbers; each has its numbers as a table too.
import { html } from "/static/vendor/preact-htm.js";

const NAMES = {
  map: "MAP", judged_map: "Judged MAP", p1: "Precision@1", p10: "Precision@10", ndcg10: "NDCG@10", bpref: "bpref",
  top_precision: "What comes first",
};
export const named = (measure) => NAMES[measure] || measure;
const short = (measure) => named(measure).replace("Precision", "P").replace("Judged", "judged");
const isNumber = (v) => typeof v === "number" && Number.isFinite(v);
export const shown = (v) => (isNumber(v) ? v.toFixed(3) : "–");

// One group of bars a measure, one bar a model.
export function Bars({ rows }) {
  const measures = Object.keys(NAMES).filter((m) => rows.some((r) => isNumber(r[m])));
  if (!measures.length) return null;
  const [width, height, left, foot] = [460, 220, 30, 24];
  const group = (width - left) / measures.length;
  const bar = Math.min(34, (group - 12) / rows.length);
  const y = (v) => (height - foot) * (1 - v) + 8 * v;
  return html`<figure class="plot"><figcaption>Measures</figcaption>
    <svg viewBox="0 0 ${width} ${height}" role="img" aria-label="Bars of the measures; the table below has the numbers">
      ${[0, 0.5, 1].map((v) => html`<g key=${v}><line class="rule" x1=${left} x2=${width} y1=${y(v)} y2=${y(v)} />
        <text x=${left - 5} y=${y(v) + 4} text-anchor="end">${v}</text></g>`)}
      ${measures.map((m, at) => html`<g key=${m}>
        ${rows.map((r, k) => isNumber(r[m]) && html`<rect key=${k} class=${`series-${k % 4}`} x=${left + at * group + 6 + k * bar}
          y=${y(r[m])} width=${bar - 2} height=${Math.max(0, y(0) - y(r[m]))}><title>${`${r.method}: ${named(m)} ${shown(r[m])}`}</title></rect>`)}
        <text x=${left + (at + 0.5) * group} y=${height - 7} text-anchor="middle">${short(m)}</text></g>`)}
    </svg><${Legend} names=${rows.map((r) => r.method)} /></figure>`;
}

export function Curves({ curves }) {
  const names = Object.keys(curves || {});
  if (!names.length) return null;
  const [width, height, left, foot] = [320, 220, 34, 34];
  const x = (v) => left + (width - left - 8) * v;
  const y = (v) => 8 + (height - foot - 8) * (1 - v);
  const path = ({ recall, precision }) =>
    recall.map((r, at) => [r, precision[at]]).filter(([, p]) => isNumber(p)).map(([r, p]) => `${x(r).toFixed(1)},${y(p).toFixed(1)}`).join(" ");
  return html`<figure class="plot"><figcaption>Precision by recall</figcaption>
    <svg viewBox="0 0 ${width} ${height}" role="img" aria-label=${`Recall-precision curves of ${names.join(", ")}`}>
      ${[0, 0.5, 1].map((v) => html`<g key=${v}><line class="rule" x1=${x(0)} x2=${x(1)} y1=${y(v)} y2=${y(v)} />
        <text x=${left - 5} y=${y(v) + 4} text-anchor="end">${v}</text>
        <text x=${x(v)} y=${height - 18} text-anchor="middle">${v}</text></g>`)}
      <text x=${x(0.5)} y=${height - 3} text-anchor="middle">recall</text>
      ${names.map((name, k) => html`<polyline key=${name} class=${`line-${k % 4}`} points=${path(curves[name])}><title>${name}</title></polyline>`)}
    </svg><${Legend} names=${names} lines=${true} /></figure>`;
}

// How sure the difference is: its interval, and whether that crosses nothing.
export function Differences({ rows, by, baseline }) {
  const list = rows.filter((r) => isNumber(r.difference));
  if (!list.length) return null;
  const [width, row, left] = [320, 44, 10];
  const most = Math.max(0.01, ...list.flatMap((r) => [Math.abs(r.low), Math.abs(r.high)]));
  const x = (v) => width / 2 + ((width / 2 - left) * v) / most;
  const height = row * list.length + 24;
  return html`<figure class="plot"><figcaption>Difference in ${named(by)} to ${baseline}, 95 % interval</figcaption>
    <svg viewBox="0 0 ${width} ${height}" role="img" aria-label="Intervals of the differences; the table below has the numbers">
      <line class="rule" x1=${x(0)} x2=${x(0)} y1="4" y2=${height - 18} />
      ${[-most, 0, most].map((v) => html`<text key=${v} x=${Math.max(22, Math.min(width - 22, x(v)))} y=${height - 4} text-anchor="middle">${v.toFixed(2)}</text>`)}
      ${list.map((r, k) => html`<g key=${k} class=${r.p_value < 0.05 ? (r.difference > 0 ? "gain" : "loss") : "unsure"}>
        <text x=${left} y=${row * k + 14}>${`${r.method}: ${r.difference >= 0 ? "+" : ""}${shown(r.difference)}, p ${pValue(r.p_value)}`}</text>
        <line class="whisker" x1=${x(r.low)} x2=${x(r.high)} y1=${row * k + 27} y2=${row * k + 27} />
        <circle cx=${x(r.difference)} cy=${row * k + 27} r="5" /></g>`)}
    </svg></figure>`;
}

export const pValue = (p) => (!isNumber(p) ? "–" : p < 0.001 ? "< 0.001" : `= ${p.toFixed(3)}`);

// A word table: what it means that a word occurs so often in the query and so often in a picture,
// one square a bin of words, common ones first.
export function Heat({ bins }) {
  const drawn = (Array.isArray(bins) ? bins : []).filter((b) => Array.isArray(b?.table) && b.table.every(Array.isArray));
  if (!drawn.length) return null;
  const most = Math.max(1e-9, ...drawn.flatMap((b) => b.table.flat()).filter(isNumber).map(Math.abs));
  return html`<figure class="plot wide"><figcaption>The word table: counts in the query (down) and in the picture (across)</figcaption>
    <div class="heats">${drawn.map((b, at) => html`<${Square} key=${at} bin=${b} most=${most} />`)}</div></figure>`;
}

function Square({ bin, most }) {
  const cell = 34;
  const rows = bin.table;
  const size = [rows[0].length * cell + 16, rows.length * cell + 16];
  const title = [isNumber(bin.words) && `${bin.words} words`, isNumber(bin.idf) && `idf ${bin.idf.toFixed(1)}`].filter(Boolean).join(", ");
  return html`<div><span class="soft">${title}</span>
    <svg viewBox="0 0 ${size[0]} ${size[1]}" width=${size[0]} role="img" aria-label=${`Word table${title && ` of ${title}`}: ${rows.map((row) => row.map(shown).join(" ")).join("; ")}`}>
      ${rows.map((row, y) => html`<g key=${y}><text x="10" y=${16 + (y + 0.6) * cell} text-anchor="end">${y}</text>
        ${row.map((v, x) => isNumber(v) && html`<g key=${x}><rect class=${v < 0 ? "cold" : "warm"} x=${16 + x * cell} y=${16 + y * cell}
          width=${cell - 1} height=${cell - 1} fill-opacity=${(0.75 * Math.abs(v)) / most} />
          <text x=${16 + (x + 0.5) * cell} y=${16 + (y + 0.6) * cell} text-anchor="middle">${v.toFixed(1)}</text></g>`)}</g>`)}
      ${rows[0].map((_, x) => html`<text key=${x} x=${16 + (x + 0.5) * cell} y="11" text-anchor="middle">${x}</text>`)}
    </svg></div>`;
}

function Legend({ names, lines }) {
  return html`<ul class="legend">${names.map((name, k) => html`<li key=${name}>
    <svg viewBox="0 0 22 10" width="22" height="10" aria-hidden="true">${lines
      ? html`<line class=${`line-${k % 4}`} x1="0" x2="22" y1="5" y2="5" />`
      : html`<rect class=${`series-${k % 4}`} width="22" height="10" />`}</svg> ${name}</li>`)}</ul>`;
}

export function Numbers({ rows }) {
  const measures = Object.keys(NAMES).filter((m) => rows.some((r) => isNumber(r[m])));
  const also = rows.some((r) => isNumber(r.difference));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Measures"><table class="numbers"><thead><tr><th scope="col">Model</th>
    ${measures.map((m) => html`<th key=${m} scope="col">${named(m)}</th>`)}
    ${also && html`<th scope="col">Difference</th><th scope="col">95 % interval</th><th scope="col">p</th>`}<th scope="col">Queries</th></tr></thead>
    <tbody>${rows.map((r) => html`<tr key=${r.method}><th scope="row">${r.method}</th>
      ${measures.map((m) => html`<td key=${m} class="number">${shown(r[m])}</td>`)}
      ${also && html`<td class="number">${isNumber(r.difference) ? shown(r.difference) : ""}</td>
        <td class="number">${isNumber(r.low) ? `${shown(r.low)} to ${shown(r.high)}` : ""}</td>
        <td class="number">${isNumber(r.p_value) ? pValue(r.p_value).replace("= ", "") : ""}</td>`}
      <td class="number">${r.queries ?? ""}</td></tr>`)}</tbody></table></div>`;
}
