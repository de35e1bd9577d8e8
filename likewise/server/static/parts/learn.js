// Learn now: the job, what the guard said, activate and roll back.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { ask, call, newKey } from "/static/lib/api.js";
import { jobs, status, ticks } from "/static/lib/news.js";
import { person } from "/static/lib/outbox.js";
import { complain } from "/static/lib/toasts.js";
import { Progress } from "/static/parts/progress.js";

const post = (path, body) => call(path, { body: { person: person.value, ...body }, key: newKey() });

// What can be learned, and from what; the page names it so.
const WHAT = {
  look: ["What looks similar, from marks", {}],
  top: ["What comes first, from marks", { objective: "top-precision" }],
  words: ["What words look like, from clicks and captions", { objective: "clicks" }],
  object: ["What shows the same object, from marks", { space: "words" }],
};

export function Learn({ ready = true, choose = false }) {
  const latest = useSignal(jobs).find((job) => job.kind === "learn");
  const busy = latest?.state === "running";
  const objects = useSignal(status)?.same_object;
  const [what, setWhat] = useState("look");
  const learn = () => post("/models/learn", WHAT[what][1]).catch(complain);
  return html`<section class="learn" aria-label="Learning">
    <h2>${choose ? "Learn" : "Learning"}</h2>
    <p class="buttons">
      ${choose && html`<label>What <select value=${what} onChange=${(e) => setWhat(e.target.value)}>
        ${Object.entries(WHAT).map(([key, [name]]) => html`<option key=${key} value=${key} disabled=${key === "object" && !objects}>${name}</option>`)}
      </select></label>`}
      <button class="main" disabled=${!ready || busy} onClick=${learn}>Learn now</button>
      ${!choose && html`<${Active} />`}</p>
    ${!ready && html`<p class="soft">Mark some candidates first; both right and wrong ones teach.</p>`}
    ${busy && html`<${Progress} job=${latest} />`}
    ${latest && !busy && html`<${Verdict} key=${latest.id} job=${latest} />`}
  </section>`;
}

function Verdict({ job }) {
  const [model, setModel] = useState(null);
  const changed = useSignal(ticks.model);
  useEffect(() => (job.model ? ask(`/models/${job.model}`, setModel) : undefined), [job.model, changed]);
  const activate = () =>
    post(`/models/${model.id}/activate`, {}).catch(complain);
  const guard = model?.card.guard;
  return html`<div class=${`verdict ${guard?.passed ? "passed" : ""}`} role="status">
    ${model && html`<b>Model ${model.id} ${model.name}: ${guard?.passed ? "the guard let it pass" : "the guard keeps it back"}.</b>`}
    <p>${guard?.sentence || job.message}</p>
    ${guard?.passed && !model.active && html`<button class="main" onClick=${activate}>Activate it</button>`}
    ${model?.active && html`<span class="soft">It is active.</span>`}
  </div>`;
}

function Active() {
  const [active, setActive] = useState(null);
  const changed = useSignal(ticks.model);
  useEffect(() => ask("/models", (all) => setActive(all.find((m) => m.active && m.slot === "default") || null)), [changed]);
  const back = () => post("/models/rollback", {}).catch(complain);
  if (!active) return html`<span class="soft">Searches are ranked by plain similarity.</span>`;
  return html`<span>Searches are ranked by <b>model ${active.id} ${active.name}</b>.</span>
    <button onClick=${back}>Roll back</button>`;
}
