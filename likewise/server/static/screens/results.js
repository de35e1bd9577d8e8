// Results: what was found, best first; marks act at once, for this query.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { ask, call, newKey } from "/static/lib/api.js";
import { plural } from "/static/lib/format.js";
import { useKeys } from "/static/lib/keys.js";
import { status, ticks } from "/static/lib/news.js";
import { click, judge as send, undoLast } from "/static/lib/outbox.js";
import { asked, canJudge, fromParams, isEmpty, likeItem, toParams, withExample } from "/static/lib/query.js";
import { Link, go } from "/static/lib/router.js";
import { selectNone } from "/static/lib/selection.js";
import { complain, say } from "/static/lib/toasts.js";
import { useAnswer } from "/static/parts/answers.js";
import { BoardView } from "/static/parts/board-view.js";
import { Grid } from "/static/parts/grid.js";
import { Near } from "/static/parts/near.js";
import { QueryStrip } from "/static/parts/query-strip.js";
import { SearchBox } from "/static/parts/search-box.js";
import { SelectionBar } from "/static/parts/selection-bar.js";
import { Sorted } from "/static/parts/sorted.js";
import { ViewPicker } from "/static/parts/views.js";
import { view } from "/static/parts/viewer.js";

export function Results({ params }) {
  const query = fromParams(params);
  const main = useAnswer(query, query.model);
  const other = useAnswer(query, query.compare, !!query.compare);
  const results = main.answer?.results || [];
  const placeOf = (item) => results.findIndex((r) => r.item === item) + 1;
  const change = (next, options) => go("/results", toParams(next), options);
  const refresh = () => { main.refresh(); if (query.compare) other.refresh(); };

  const judge = async (items, relevant) => {
    const numbers = items.map((r) => r.item);
    selectNone();
    const what = plural(numbers.length, "picture");
    say(`${what} marked as ${relevant ? "relevant" : "not this"}.`, { action: "Undo", run: undo });
    try { await send(asked(query), numbers, relevant, numbers.map(placeOf)); } catch { /* told already */ }
    refresh();
  };
  const undo = async () => {
    const taken = await undoLast().catch(complain);
    if (taken) { say("Taken back."); refresh(); }
  };
  const more = (r) => {
    if (canJudge(query)) click(asked(query), r.item, placeOf(r.item));
    go("/results", toParams({ ...likeItem(r.item), model: query.model }));
  };
  const open = (model) => (r) => {
    if (canJudge(query)) click(asked(query), r.item, placeOf(r.item));
    view({ item: r.item, query, model, judge: canJudge(query) && ((relevant) => judge([r], relevant)) });
  };
  const add = (items, weight) => {
    selectNone();
    change(items.reduce((next, item) => withExample(next, { item, weight }), query));
  };
  useKeys([{ keys: ["u"], shown: "U", says: "undo the last mark", run: undo }]);

  if (isEmpty(query)) {
    return html`<section><${SearchBox} query=${query} />
      <div class="empty"><h2>Nothing asked yet</h2><p>Type words above, drop a picture anywhere, or begin
      with one on the <${Link} to="/">home page<//>.</p></div></section>`;
  }
  const acts = (model) => ({ judge: canJudge(query) ? judge : null, more, open: open(model) });
  const places = new Map(results.map((r, place) => [r.item, place]));
  return html`<section class="results" aria-busy=${main.loading}>
    <h1 class="sr-only">Results</h1>
    <${SearchBox} query=${query} />
    <${QueryStrip} query=${query} change=${change} />
    <${Near} text=${query.text} />
    <${Tools} query=${query} change=${change} />
    ${main.error && html`<p class="error" role="alert">${main.error.message}</p>`}
    <div class=${query.compare ? "side-by-side" : ""}>
      <div>
        <${Rests} answer=${main.answer} loading=${main.loading} heading=${query.compare} />
        ${main.answer && !results.length && html`<${Nothing} query=${query} />`}
        ${query.view === "board"
          ? html`<${BoardView} query=${query} results=${results} open=${open(query.model)} />`
          : html`<${query.view === "sorted" ? Sorted : Grid} results=${results} acts=${acts(query.model)} label="Results" />`}
      </div>
      ${query.compare && html`<div>
        ${other.error && html`<p class="error" role="alert">${other.error.message}</p>`}
        <${Rests} answer=${other.answer} loading=${other.loading} heading=${true} />
        <${Grid} results=${other.answer?.results || []} acts=${acts(query.compare)} label="Results of the other model"
          compareWith=${places} keyed=${false} /></div>`}
    </div>
    ${query.view !== "board" && results.length >= query.k && query.k < 1000 && html`<p class="centre">
      <button onClick=${() => change({ ...query, k: Math.min(1000, query.k + 60) }, { replace: true })}>More results</button></p>`}
    ${query.view !== "board" && html`<${SelectionBar} results=${results} judge=${canJudge(query) ? judge : null} add=${add}
      open=${open(query.model)} />`}
  </section>`;
}

function Rests({ answer, loading, heading }) {
  if (!answer) return html`<p class="rests" role="status">${loading ? "Searching …" : ""}</p>`;
  const parts = [
    plural(answer.results.length, "result"),
    `model ${answer.model}`,
    answer.reader && `words read by ${answer.reader}`,
    `index ${answer.generation}`,
    answer.marks > 0 && `shaped by ${plural(answer.marks, "mark")} on this query`,
    `${Math.max(1, Math.round(1000 * answer.seconds))} ms`,
  ].filter(Boolean);
  return html`${heading && html`<h2>${answer.model}</h2>`}
    <p class="rests" role="status">${parts.join(" · ")}
    ${[answer.degraded, ...answer.notes].filter(Boolean).map((line) => html`<br /><span class="degraded">${line}</span>`)}</p>`;
}

function Tools({ query, change }) {
  const models = useModels();
  const at = useSignal(status);
  const names = models.map((m) => [String(m.id), `${m.id} ${m.name}${m.active ? " (active)" : ""}`]);
  const set = (name) => (event) => change({ ...query, [name]: event.target.value });
  return html`<div class="tools">
    <${ViewPicker} query=${query} change=${change} />
    <label>Model <select value=${query.model} onChange=${set("model")}>
      <option value="">the active one</option><option value="plain">plain</option>
      ${names.map(([id, name]) => html`<option key=${id} value=${id}>${name}</option>`)}</select></label>
    <label>Compare with <select value=${query.compare} onChange=${set("compare")}>
      <option value="">nothing</option><option value="plain">plain</option>
      ${names.map(([id, name]) => html`<option key=${id} value=${id}>${name}</option>`)}</select></label>
    <label><input type="checkbox" checked=${query.fold}
      onChange=${(e) => change({ ...query, fold: e.target.checked })} /> fold near-duplicates</label>
    <label title="Find the same thing, whatever the picture looks like"><input type="checkbox" checked=${query.same}
      onChange=${(e) => (!at || at.same_object || query.same ? change({ ...query, same: e.target.checked }) : offerObjects(e.target))} /> same object</label>
    ${query.tags.map((tag) => html`<button key=${tag} title="Take this filter away"
      onClick=${() => change({ ...query, tags: query.tags.filter((t) => t !== tag) })}>tag: ${tag} ×</button>`)}
    <${TagFilter} query=${query} change=${change} />
  </div>`;
}

// The switch needs the pictures' local features: offer to read them, and leave it off meanwhile.
function offerObjects(box) {
  box.checked = false;
  const read = () => call("/jobs", { body: { same_object: true }, key: newKey() })
    .then(() => say("Local features are being read; the switch works when that is done.")).catch(complain);
  say("Finding the same object needs the local features of all pictures, which are read once.",
    { action: "Read them", run: read, lasting: 20000 });
}

function TagFilter({ query, change }) {
  const [tags, setTags] = useState([]);
  useEffect(() => ask("/tags?limit=50", setTags), []);
  const open = tags.filter((t) => !query.tags.includes(t.tag));
  if (!open.length) return null;
  return html`<label>Only tagged <select value=""
    onChange=${(e) => e.target.value && change({ ...query, tags: [...query.tags, e.target.value] })}>
    <option value="">any</option>
    ${open.map((t) => html`<option key=${t.tag} value=${t.tag}>${t.tag} (${t.items})</option>`)}</select></label>`;
}

export function useModels() {
  const [models, setModels] = useState([]);
  const changed = [useSignal(ticks.model), useSignal(ticks.collection)].join();
  useEffect(() => ask("/models", setModels), [changed]);
  return models;
}

function Nothing({ query }) {
  return html`<div class="empty"><h2>Nothing found</h2>
    <p>${query.tags.length
      ? "Take a filter away, or use other words."
      : "Use fewer or other words, or search by a picture: drop one anywhere on this page."}</p></div>`;
}
