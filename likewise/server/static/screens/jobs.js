// Jobs and problems: what is going on, what was done, and which files could not be read.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { call, newKey, useAsk } from "/static/lib/api.js";
import { ago, plural } from "/static/lib/format.js";
import { jobs, status, ticks } from "/static/lib/news.js";
import { complain } from "/static/lib/toasts.js";
import { Progress, title } from "/static/parts/progress.js";

const start = (body) => call("/jobs", { body, key: newKey() }).catch(complain);
const act = (job, action) => call(`/jobs/${job.id}/${action}`, { method: "POST" }).catch(complain);

export function Jobs() {
  const list = useSignal(jobs);
  return html`<section class="jobs">
    <h1>Jobs</h1>
    <p class="buttons"><button class="main" onClick=${() => start({ kind: "index" })}>Look for new pictures</button>
      <button onClick=${() => start({ kind: "index", quiet: true })} title="Takes longer, and keeps one core busy instead of all">Quietly</button></p>
    ${list.length === 0 && html`<div class="empty"><p>Nothing is going on. New and changed photos are
      taken in when you look for them.</p></div>`}
    <${Network} />
    <ul class="joblist">${list.map((job) => html`<${Job} key=${job.id} job=${job} />`)}</ul>
    <${Problems} />
  </section>`;
}

// Another network describes every picture anew; the old space serves until that is done.
function Network() {
  const at = useSignal(status);
  if (!at?.network) return null;
  const choose = (more) => start({ kind: "index", ...more });
  const select = (name, label, values) => html`<label>${label} <select value=${at[name]}
    onChange=${(e) => choose({ [name]: e.target.value })}>${values.map((v) => html`<option>${v}</option>`)}</select></label>`;
  return html`<details><summary>How pictures are described</summary>
    <p class="buttons">${select("network", "Network", ["lite0", "lite1", "lite2"])}
      ${select("arithmetic", "Arithmetic", ["float32", "int8"])}</p>
    <p class="soft">Another choice reads every picture once more. Marks stay; active models are learned again.</p></details>`;
}

function Job({ job }) {
  const running = job.state === "running";
  const stopping = job.wanted ? ` (will be ${job.wanted})` : "";
  return html`<li class=${`job ${job.state}`}>
    <div><b>${title(job)}</b> <span class="state">${job.state}${stopping}</span>
      <span class="soft"> ${ago(job.updated)}</span></div>
    ${running && html`<${Progress} job=${job} />`}
    ${job.message && html`<p>${job.message}</p>`}
    <p class="buttons">
      ${running && job.kind === "index" && html`<button disabled=${!!job.wanted} onClick=${() => act(job, "pause")}>Pause</button>`}
      ${["paused", "failed"].includes(job.state) && html`<button onClick=${() => act(job, "resume")}>Go on</button>`}
      ${["running", "paused", "queued"].includes(job.state) && html`<button disabled=${job.wanted === "cancelled"}
        onClick=${() => act(job, "cancel")}>Cancel</button>`}
    </p>
  </li>`;
}

function Problems() {
  const [page, setPage] = useState({ items: [], next: null });
  const changed = useSignal(ticks.collection);
  const ask = useAsk();
  const load = (cursor, before) =>
    ask(`/problems?limit=100&cursor=${cursor}`, (found) => setPage({ items: [...before, ...found.items], next: found.next }), complain);
  useEffect(() => { load(0, []); }, [changed]);
  return html`<h2>Files that could not be read</h2>
    ${page.items.length === 0
      ? html`<p class="soft">None: every file could be read.</p>`
      : html`<p>Mended files are read when you look for new pictures.</p>
        <p class="buttons"><button onClick=${() => start({ kind: "index", retry: true })}>Try all of them again</button></p>
        <div class="scroll" tabindex="0" role="region" aria-label="Unreadable files"><table class="problems"><thead><tr><th scope="col">File</th><th scope="col">Reason</th></tr></thead>
        <tbody>${page.items.map((i) => html`<tr key=${i.item}><td>${i.path}</td><td>${i.reason}</td></tr>`)}</tbody></table></div>`}
    ${page.next && html`<button onClick=${() => load(page.next, page.items)}>More (${plural(page.items.length, "file")} shown)</button>`}`;
}
