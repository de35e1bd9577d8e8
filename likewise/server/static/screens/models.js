// Models: what was learned from which judgements, how well it does, and which one ranks.
import { html, useRef, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { call, newKey } from "/static/lib/api.js";
import { ago, duration, plural } from "/static/lib/format.js";
import { status } from "/static/lib/news.js";
import { person } from "/static/lib/outbox.js";
import { Link, go, staying } from "/static/lib/router.js";
import { complain, say } from "/static/lib/toasts.js";
import { Changes } from "/static/parts/changes.js";
import { Check } from "/static/parts/check.js";
import { Compare } from "/static/parts/compare.js";
import { Dialog } from "/static/parts/dialog.js";
import { Learn } from "/static/parts/learn.js";
import { Bars, Curves, Differences, Heat, Numbers, shown as number } from "/static/parts/plots.js";
import { useModels } from "/static/parts/answers.js";

const post = (path, body) => call(path, { body: { person: person.value, ...body }, key: newKey() });

export function Models({ params }) {
  const models = useModels();
  const at = useSignal(status);
  const wanted = Number(params.get("model")) || 0;
  const shown = models.find((m) => m.id === wanted) || (wanted ? null : models.find((m) => m.active) || models[0]);
  const active = models.find((m) => m.active && ranksPictures(m));
  const others = models.filter((m) => m.active && !ranksPictures(m));
  const back = (task) => post("/models/rollback", { task }).catch(complain);
  return html`<section class="models">
    <h1>Models</h1>
    <p class="buttons"><span>Searches are ranked by <b>${active ? `model ${active.id} ${active.name}` : at?.model || "plain similarity"}</b>.</span>
      <button onClick=${() => back("look")} disabled=${!active}>Roll back</button> <${Import} /></p>
    ${others.map((m) => html`<p key=${m.task} class="buttons"><span>${DOES[m.task]} <b>model ${m.id} ${m.name}</b>.</span>
      <button onClick=${() => back(m.task)}>Roll that back</button></p>`)}
    ${models.length === 0
      ? html`<div class="empty"><h2>No model yet</h2><p>Mark results, or <${Link} to="/teach">teach<//>; then learn. What is learned is
          listed here with how well it does.</p></div>`
      : html`<${List} models=${models} shown=${shown} />`}
    ${wanted > 0 && !shown && models.length > 0 && html`<p class="error" role="alert">There is no model ${wanted}.</p>`}
    <${Learn} choose />
    ${shown && html`<${Card} key=${shown.id} model=${shown} />`}
    ${models.length > 0 && html`<${Compare} models=${models.filter(ranksPictures)} params=${params} />`}
  </section>`;
}

// A model ranks pictures, reads words, or finds the same object: one of each can be at work.
const DOES = { text: "Words are read by", objects: "The same object is found by" };
const ranksPictures = (model) => !DOES[model.task];
const atWork = (model) => ({ text: "reads words now", objects: "finds objects now" }[model.task] || "ranks now");

function List({ models, shown }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="List of models"><table class="modellist">
    <thead><tr><th scope="col">Model</th><th scope="col">Taught by</th><th scope="col">Guard</th><th scope="col">What comes first</th><th scope="col">Made</th></tr></thead>
    <tbody>${models.map((m) => html`<tr key=${m.id} class=${m === shown ? "shown" : ""}>
      <th scope="row"><${Link} to="/models" params=${new URLSearchParams({ model: m.id })} aria-current=${m === shown ? "true" : null}>${m.id} ${m.name}<//>
        ${m.active && html` <span class="tag">${atWork(m)}</span>`}${m.card.imported && html` <span class="tag quiet">imported</span>`}</th>
      <td>${taught(m.card)}</td>
      <td>${m.card.guard ? (m.card.guard.passed ? "let it pass" : "keeps it back") : "did not look"}</td>
      <td>${first(m.card)}</td>
      <td>${ago(m.made)}</td></tr>`)}</tbody></table></div>`;
}

const taught = (card) => (Number.isInteger(card.judgements)
  ? `${plural(card.judgements, "judgement")} on ${plural(card.queries || 0, "query", "queries")}` : "not said");

// Right ones before the first wrong one, of queries that the model had not seen: before and with it.
const first = ({ held_out: rows }) => (Array.isArray(rows) && rows.length > 1
  ? `${number(rows[0].top_precision)} → ${number(rows.at(-1).top_precision)}` : "–");

function Card({ model }) {
  const { card } = model;
  const guard = card.guard;
  const rows = Array.isArray(card.held_out) ? card.held_out : [];
  const judged = rows.some((r) => r.judged_map !== undefined);
  const before = rows.find((r) => typeof r.difference !== "number")?.method || "plain";
  const facts = [
    ["Method", [...new Set([card.method || card.objective, card.kind])].filter(Boolean).join(", ")],
    ["Taught by", taught(card)],
    ["Not used", card.lost_queries ? `${plural(card.lost_queries, "query", "queries")} whose picture is gone` : ""],
    ["Took", card.seconds ? duration(card.seconds) : ""],
    ["Settings", Object.entries(card.report?.settings || {}).map(([k, v]) => `${k} ${v}`).join(", ")],
    ["Notes", (card.report?.notes || []).join(" ")],
  ].filter(([, value]) => value);
  return html`<section class="card-of-model" aria-label=${`Card of model ${model.id}`}>
    <h2>Model ${model.id} ${model.name}</h2>
    <div class=${`verdict ${guard?.passed ? "passed" : ""}`}>
      <b>${guard ? (guard.passed ? "The guard let it pass." : "The guard keeps it back.") : "The guard never looked at it."}</b>
      <p>${guard?.sentence || "It was never compared with plain similarity."}</p>
      ${guard?.by === "check" && !guard.passed && html`<${Check} model=${model.id} />`}</div>
    <${Acts} model=${model} />
    <dl class="facts">${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    ${rows.length > 0 && html`<h3>On queries it had not seen</h3>
      <div class="plots"><${Bars} rows=${rows} /><${Curves} curves=${card.curves} />
        <${Differences} rows=${rows} by=${judged ? "judged_map" : "map"} baseline=${before} /><${Heat} bins=${card.table} /></div>
      <${Numbers} rows=${rows} />`}
    ${!rows.length && card.table && html`<div class="plots"><${Heat} bins=${card.table} /></div>`}
    ${card.changes && html`<${Changes} changes=${card.changes} before=${before} after="this model" />`}
  </section>`;
}

function Acts({ model }) {
  const [asking, setAsking] = useState(false);
  const activate = (force) => {
    setAsking(false);
    post(`/models/${model.id}/activate`, { force }).catch(complain);
  };
  const save = async () => {
    try {
      const file = URL.createObjectURL(await call(`/models/${model.id}/file`));
      const name = `model-${model.id}-${model.name.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.safetensors`;
      Object.assign(document.createElement("a"), { href: file, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(file), 10000);
    } catch (error) { complain(error); }
  };
  const passed = model.card.guard?.passed;
  return html`<p class="buttons">
    ${model.active ? html`<span class="tag">${atWork(model)}</span>`
      : passed ? html`<button class="main" onClick=${() => activate(false)}>Activate</button>`
        : html`<button onClick=${() => setAsking(true)}>Activate anyway …</button>`}
    <button onClick=${save}>Export</button>
    <${Dialog} open=${asking} onClose=${() => setAsking(false)} label="Activate anyway">
      <h2>Activate model ${model.id} although the guard keeps it back?</h2>
      <p>${model.card.guard?.sentence || "It was never compared with plain similarity."}</p>
      <p>Everyone's searches are ranked by it at once. Roll back takes it back.</p>
      <p class="buttons"><button class="main" onClick=${() => activate(true)}>Activate it anyway</button>
        <button onClick=${() => setAsking(false)}>Leave it</button></p>
    <//></p>`;
}

function Import() {
  const file = useRef(null);
  const take = async (event) => {
    const chosen = event.target.files[0];
    event.target.value = "";
    if (!chosen) return;
    const still = staying();
    try {
      const model = await call("/models/import", { raw: chosen, key: newKey() });
      say(`Imported as model ${model.id}.`);
      if (still()) go("/models", new URLSearchParams({ model: model.id }));
    } catch (error) { complain(error); }
  };
  return html`<button onClick=${() => file.current.click()}>Import …</button>
    <input ref=${file} type="file" accept=".safetensors" hidden aria-hidden="true" tabindex="-1" onChange=${take} />`;
}
