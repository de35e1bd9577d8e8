// Any two models on any judgements; what is asked is in the address.
import { html, useEffect, useLayoutEffect, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { ask } from "/static/lib/api.js";
import { plural } from "/static/lib/format.js";
import { ticks } from "/static/lib/news.js";
import { go } from "/static/lib/router.js";
import { Changes } from "/static/parts/changes.js";
import { Bars, Curves, Differences, Numbers } from "/static/parts/plots.js";

export function Compare({ models, params }) {
  const [by, setBy] = useState({ people: [], sources: [] });
  const changed = useSignal(ticks.judgements);
  useEffect(() => ask("/judgements/by", setBy), [changed]);
  const asked = { a: params.get("a") || "", b: params.get("b") || "plain", on: params.get("on") || "all" };
  const known = (name) => models.some((m) => String(m.id) === name) || name === "plain";
  // What was chosen and not asked yet must outlive news that draw this anew.
  const [chosen, setChosen] = useState({});
  const shown = { ...asked, a: known(asked.a) ? asked.a : models.length ? String(models[0].id) : "", ...chosen };
  const choose = (event) => { const { name, value } = event.target; setChosen((before) => ({ ...before, [name]: value })); };
  const start = (event) => {
    event.preventDefault();
    const form = event.target.elements;
    const next = new URLSearchParams(params);
    for (const name of ["a", "b", "on"]) next.set(name, form[name].value);
    setChosen({});
    go("/models", next);
  };
  const names = [["plain", "plain similarity"], ...models.map((m) => [String(m.id), `${m.id} ${m.name}`])];
  const options = names.map(([id, name]) => html`<option key=${id} value=${id}>${name}</option>`);
  const who = (some, kind, unnamed) => some.map((s) => html`<option key=${kind + s.name} value=${`${kind}:${s.name}`}>${s.name || unnamed} (${s.judgements})</option>`);
  return html`<section aria-label="Compare two models"><h2>Compare two models</h2>
    <form class="tools" onSubmit=${start}>
      <label>Model <select name="a" value=${shown.a} onChange=${choose}>${options}</select></label>
      <label>with <select name="b" value=${shown.b} onChange=${choose}>${options}</select></label>
      <label>on <select name="on" value=${shown.on} onChange=${choose}>
        <option value="all">all judgements</option>
        ${models.map((m) => html`<option key=${m.id} value=${`after:${m.id}`}>those made after model ${m.id}</option>`)}
        <optgroup label="of a person">${who(by.people, "person", "nobody named")}</optgroup>
        <optgroup label="that came by">${who(by.sources, "source", "no source")}</optgroup></select></label>
      <button class="main" disabled=${!models.length}>Compare</button>
    </form>
    <p class="soft">A model does well on what it was taught with; judgements made after it, or those of
      somebody else, say more. The card above is measured on queries that were held out.</p>
    ${params.get("a") && html`<${Outcome} asked=${asked} models=${models} />`}</section>`;
}

function body({ a, b, on }, models) {
  const [kind, ...rest] = on.split(":");
  const name = rest.join(":");
  const out = { model: a, against: b };
  if (kind === "person") out.person = name;
  if (kind === "source") out.source = name;
  if (kind === "after") out.since = models.find((m) => String(m.id) === name)?.made ?? 0;
  return out;
}

function Outcome({ asked, models }) {
  const [state, setState] = useState({ loading: true });
  const changed = useSignal(ticks.judgements);
  const wanted = JSON.stringify(body(asked, models));
  useLayoutEffect(() => {
    if (!models.length) return undefined;
    setState((before) => ({ ...before, loading: true }));
    return ask("/models/compare", (found) => setState({ found }), (error) => setState({ error }), { body: JSON.parse(wanted) });
  }, [wanted, changed, models.length > 0]);
  if (state.error) return html`<p class="error" role="alert">${state.error.message}</p>`;
  if (!state.found) return html`<p class="soft" role="status">Comparing …</p>`;
  const { found } = state;
  return html`<div class="compared" aria-busy=${!!state.loading}>
    <p role="status">${found.model} against ${found.against}, on ${plural(found.judgements, "judgement")}.</p>
    <div class="plots"><${Bars} rows=${found.rows} /><${Curves} curves=${found.curves} />
      <${Differences} rows=${found.rows} by=${found.by} baseline=${found.against} /></div>
    <${Numbers} rows=${found.rows} />
    <${Changes} changes=${found.changes} before=${found.against} after=${found.model} /></div>`;
}
