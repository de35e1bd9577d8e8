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
    <${Folders} />
    <${Network} />
    <ul class="joblist">${list.map((job) => html`<${Job} key=${job.id} job=${job} />`)}</ul>
    <${Problems} />
  </section>`;
}

// Where pictures come from; on the machine that serves another folder can be added.
function Folders() {
  const [roots, setRoots] = useState([]);
  const [path, setPath] = useState("");
  const changed = useSignal(ticks.collection);
  const ask = useAsk();
  useEffect(() => { ask("/roots", setRoots, complain); }, [changed]);
  const add = async (e) => {
    e.preventDefault();
    try {
      setRoots(await call("/roots", { body: { path } }));
      setPath("");
      start({ kind: "index" });
    } catch (error) { complain(error); }
  };
  const own = roots[0]?.path.startsWith("/");
  const remove = (root) => call("/roots/remove", { body: { path: root } }).then(setRoots, complain);
  return html`<details class="folders"><summary>${plural(roots.length, "folder")}</summary>
    <ul>${roots.map((r, at) => html`<li key=${r.path}>${r.path}${!r.reachable && html` <span class="soft">(cannot be reached now; its photos stay)</span>`}
      ${own && at > 0 && html` <button title="Its photos are searched no more; files and marks stay, and adding it again brings them back"
        onClick=${() => remove(r.path)}>Remove</button>`}</li>`)}</ul>
    ${own && html`<form class="buttons" onSubmit=${add}><label>Another folder <input value=${path} required
      placeholder="/media/drive/photos" onInput=${(e) => setPath(e.target.value)} /></label> <button>Add</button></form>`}</details>`;
}

// Another network describes every picture anew; the old space serves until that is done.
function Network() {
  const at = useSignal(status), list = useSignal(jobs);
  const [wanted, setWanted] = useState({});
  if (!at?.network) return null;
  const busy = list.some((job) => ["index", "demo"].includes(job.kind) && ["queued", "running"].includes(job.state));
  const now = { network: at.network, arithmetic: at.arithmetic, ...wanted };
  const select = (name, label, values) => html`<label>${label} <select value=${now[name]} disabled=${busy}
    onChange=${(e) => setWanted({ ...wanted, [name]: e.target.value })}>${values.map((v) => html`<option value=${v}>${v}</option>`)}</select></label>`;
  const same = now.network === at.network && now.arithmetic === at.arithmetic;
  return html`<details><summary>How pictures are described</summary>
    <p class="buttons">${select("network", "Network", ["lite0", "lite1", "lite2"])}
      ${select("arithmetic", "Arithmetic", ["float32", "int8"])}
      <button disabled=${busy || same} onClick=${() => start({ kind: "index", ...now })}>Describe all anew</button></p>
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
