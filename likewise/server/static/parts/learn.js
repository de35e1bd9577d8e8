// Learn now: the job, what the guard said, activate and roll back.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { ask, call, newKey } from "/static/lib/api.js";
import { jobs, status, ticks } from "/static/lib/news.js";
import { person } from "/static/lib/outbox.js";
import { Link } from "/static/lib/router.js";
import { complain } from "/static/lib/toasts.js";
import { verdict } from "/static/lib/words.js";
import { Check } from "/static/parts/check.js";
import { Progress } from "/static/parts/progress.js";

const post = (path, body) => call(path, { body: { person: person.value, ...body }, key: newKey() });

// The ways of learning, as the server declares them; the first one where there is no choice.
function useMethods(choose) {
  const [methods, setMethods] = useState([]);
  useEffect(() => { if (choose) call("/methods").then(setMethods).catch(complain); }, [choose]);
  return methods;
}

export function Learn({ ready = true, taught = true, choose = false }) {
  const latest = useSignal(jobs).find((job) => job.kind === "learn");
  const busy = latest?.state === "running";
  const objects = useSignal(status)?.same_object;
  const methods = useMethods(choose);
  const [name, setName] = useState("");
  const [settings, setSettings] = useState({});
  const method = methods.find((m) => m.name === name) || methods[0];
  const learn = () => post("/models/learn", { settings, ...(method && { method: method.name }) }).catch(complain);
  const pick = (event) => { setName(event.target.value); setSettings({}); };
  return html`<section class="learn" aria-label="Learning">
    <h2>${choose ? "Learn" : "Learning"}</h2>
    <p class="buttons">
      ${choose && html`<label>What <select value=${method?.name} onChange=${pick}>
        ${methods.map((m) => html`<option key=${m.name} value=${m.name} disabled=${m.line === "objects" && !objects}>${m.title}</option>`)}
      </select></label>`}
      <button class="main" disabled=${!ready || busy} onClick=${learn}>Learn now</button>
      ${!choose && html`<${Active} />`}</p>
    ${method && html`<p class="soft">${method.help}</p>
      <details key=${method.name} open><summary>Settings</summary><dl class="facts">${method.settings.map((one) => html`<${Setting} key=${one.name} one=${one}
        set=${(value) => setSettings(({ [one.name]: _, ...rest }) => (value === undefined ? rest : { ...rest, [one.name]: value }))} />`)}</dl></details>`}
    ${!ready && html`<p class="soft">${taught ? "You gave no feedback since this was learned last." : "Mark some photos first; both right and wrong ones teach."}</p>`}
    ${busy && html`<${Progress} job=${latest} />`}
    ${latest && !busy && html`<${Verdict} key=${latest.id} job=${latest} brief=${!choose} />`}
  </section>`;
}

// One setting: left alone it keeps its default; the server says what is wrong with another value.
function Setting({ one, set }) {
  const number = one.type === "integer" || one.type === "number";
  const read = (text) => (text === "" ? undefined : text === "none" ? null : text === "yes" ? true : text === "no" ? false
    : number && text.includes(",") ? text.split(",").map((one) => (one.trim() === "none" ? null : Number(one))) : number ? Number(text) : text);
  const change = (event) => set(read(event.target.value.trim()));
  const options = one.type === "boolean" ? ["yes", "no"] : one.choices;
  const shown = [one.default].flat().map((value) => ({ true: "yes", false: "no", null: "none" })[value] || value).join(", ");
  return html`<div><dt><label for=${`set-${one.name}`}>${one.name}</label></dt><dd>
    ${options.length ? html`<select id=${`set-${one.name}`} onChange=${change}><option value="">${shown} (default)</option>
        ${[...options, ...(one.optional ? ["none"] : [])].map((o) => html`<option key=${o} value=${o}>${o}</option>`)}</select>`
      : html`<input id=${`set-${one.name}`} placeholder=${shown} size="8" autocomplete="off" onChange=${change} />`}
    <span class="soft"> ${one.help}</span></dd></div>`;
}

// In brief for whoever teaches; with the numbers among the models.
function Verdict({ job, brief }) {
  const [model, setModel] = useState(null);
  const changed = useSignal(ticks.model);
  useEffect(() => (job.model ? ask(`/models/${job.model}`, setModel) : undefined), [job.model, changed]);
  const activate = () =>
    post(`/models/${model.id}/activate`, {}).catch(complain);
  const guard = model?.card.guard;
  return html`<div class=${`verdict ${guard?.passed ? "passed" : ""}`} role="status">
    ${model && html`<b>${brief ? verdict(model) : `Model ${model.id} ${model.name}: ${guard?.passed ? "the guard let it pass" : "the guard keeps it back"}.`}</b>`}
    ${brief && guard?.by === "check" && guard.passed && html`<p>${guard.sentence}</p>`}
    ${brief && model ? html`<p><${Link} to="/models" params=${new URLSearchParams({ model: model.id })}>The numbers<//></p>` : html`<p>${guard?.sentence || job.message}</p>`}
    ${guard?.passed && !model.active && html`<button class="main" onClick=${activate}>Use it</button>`}
    ${model?.active && !brief && html`<span class="soft">It is active.</span>`}
    ${guard?.by === "check" && !guard.passed && html`<${Check} model=${model.id} />`}
  </div>`;
}

function Active() {
  const [active, setActive] = useState(null);
  const changed = useSignal(ticks.model);
  useEffect(() => ask("/models", (all) => setActive(all.find((m) => m.active && m.task === "look") || null)), [changed]);
  const back = () => post("/models/rollback", {}).catch(complain);
  if (!active) return html`<span class="soft">Your searches go without anything learned so far.</span>`;
  return html`<span>Your searches use <b>what was learned</b> (model ${active.id}).</span>
    <button onClick=${back}>Go back to before</button>`;
}
