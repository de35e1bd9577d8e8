// The drawer: which photos, in which order and how they are shown, and what ranks them.  All of it is in the
// address, but the size of the rows, which is kept in the browser.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { ask, call, newKey } from "/static/lib/api.js";
import { status } from "/static/lib/news.js";
import { complain, say } from "/static/lib/toasts.js";
import { Dialog } from "/static/parts/dialog.js";
import { setRows } from "/static/parts/grid.js";
import { useModels } from "/static/parts/answers.js";

const VIEWS = [["", "Ranked"], ["sorted", "Sorted"], ["board", "Board"]];
const COUNTS = [100, 200, 500, 1000];
const KINDS = ["JPEG", "PNG", "WEBP", "GIF", "TIFF", "HEIF", "BMP"];
const ORDERS = [["", "best first"], ["newest", "newest first"], ["oldest", "oldest first"], ["name", "by name"]];

export function Filters({ open, close, query, change, results }) {
  return html`<${Dialog} open=${open} onClose=${close} label="Filters" class="drawer" modal=${false}>
    ${open && html`<${Inside} query=${query} change=${(next) => change(next, { replace: true })} results=${results} />`}<//>`;
}

function Inside({ query, change, results }) {
  const at = useSignal(status);
  const [tags, setTags] = useState([]);
  useEffect(() => ask("/tags?limit=500", setTags), []);
  const set = (name) => (event) => change({ ...query, [name]: event.target.value.trim() });
  const addTag = (event) => {
    event.preventDefault();
    const tag = event.target.elements.tag.value.trim();
    event.target.reset();
    if (tag && !query.tags.includes(tag)) change({ ...query, tags: [...query.tags, tag] });
  };
  const folders = [...new Set(results.map((r) => r.path.split("/").slice(0, -1).join("/")).filter(Boolean))].sort();
  return html`<h2>Filters</h2>
    <p class="views" role="group" aria-label="View">${VIEWS.map(([view, name]) => html`<button key=${view}
      aria-pressed=${query.view === view ? "true" : "false"} onClick=${() => change({ ...query, view, k: 0 })}>${name}</button>`)}</p>
    ${query.view === "sorted" && html`<label>Show <select value=${query.k} onChange=${(event) => change({ ...query, k: Number(event.target.value) })}>
      ${[...new Set([...COUNTS, query.k])].sort((a, b) => a - b).map((k) => html`<option key=${k} value=${k}>${k}</option>`)}</select></label>`}
    <${Size} />
    <label>Order <select value=${query.order} onChange=${set("order")}>${ORDERS.map(([id, name]) => html`<option key=${id} value=${id}>${name}</option>`)}</select></label>
    <label>Taken from <input type="date" value=${query.since} onChange=${set("since")} /></label>
    <label>Taken until <input type="date" value=${query.until} onChange=${set("until")} /></label>
    <label>In folder <input list="folders" value=${query.folder} onChange=${set("folder")} autocomplete="off" />
      <datalist id="folders">${folders.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</datalist></label>
    <form onSubmit=${addTag}><label>Tagged <input name="tag" list="tags" maxlength="100" autocomplete="off" placeholder="type a tag" />
      <datalist id="tags">${tags.map((t) => html`<option key=${t.tag} value=${t.tag}>${t.tag}</option>`)}</datalist></label></form>
    <label>Kind <select value=${query.kind} onChange=${set("kind")}><option value="">any</option>
      ${KINDS.map((kind) => html`<option key=${kind} value=${kind}>${kind}</option>`)}</select></label>
    <label class="switch"><input type="checkbox" checked=${!query.fold} onChange=${(e) => change({ ...query, fold: !e.target.checked })} /> show every copy</label>
    <label class="switch" title="Find the same thing, whatever the photo looks like"><input type="checkbox" checked=${query.same}
      onChange=${(e) => (!at || at.same_object || query.same ? change({ ...query, same: e.target.checked }) : offerObjects(e.target))} /> same object</label>
    <${Ranking} query=${query} set=${set} />`;
}

function Ranking({ query, set }) {
  const models = useModels();
  const names = models.map((m) => [String(m.id), `${m.id} ${m.name}${m.active ? " (in use)" : ""}`]);
  return html`<label>Compare with <select value=${query.compare} onChange=${set("compare")}>
      <option value="">nothing</option><option value="before">before your feedback</option><option value="plain">without anything learned</option>
      ${names.map(([id, name]) => html`<option key=${id} value=${id}>${name}</option>`)}</select></label>
    <label>Ranked by <select value=${query.model} onChange=${set("model")}>
      <option value="">what is in use</option><option value="plain">without anything learned</option>
      ${names.map(([id, name]) => html`<option key=${id} value=${id}>${name}</option>`)}</select></label>`;
}

function Size() {
  const shown = parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--rows"));
  return html`<label>Size <input type="range" min="90" max="420" step="10" value=${shown} onInput=${(e) => setRows(e.target.value)} aria-label="Size of the photos" /></label>`;
}

// The switch needs the photos' local features: offer to read them, and leave it off meanwhile.
function offerObjects(box) {
  box.checked = false;
  const read = () => call("/jobs", { body: { same_object: true }, key: newKey() })
    .then(() => say("The photos are being read; the switch works when that is done.")).catch(complain);
  say("Finding the same object needs a closer look at all photos, which is taken once.",
    { action: "Read them", run: read, lasting: 20000 });
}
