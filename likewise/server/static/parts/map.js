// The map: the whole collection as pictures, the similar near each other.  Drag to move, zoom to
// see more, click to open one, draw around some to select them.  Below it a list of what is in view
// says and does the same for whoever uses keys or has the page read to them.
import { html, useEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { ask, call } from "/static/lib/api.js";
import { count, plural } from "/static/lib/format.js";
import { loadMap } from "/static/lib/map-data.js";
import { mapJob, ticks } from "/static/lib/news.js";
import { selected, toggle } from "/static/lib/selection.js";
import { complain } from "/static/lib/toasts.js";
import { Grid } from "/static/parts/grid.js";
import { MapView } from "/static/parts/map-view.js";
import { Progress } from "/static/parts/progress.js";
import { rememberThumbnails } from "/static/parts/thumbnail.js";
import { useShelf } from "/static/parts/viewer.js";

const LISTED = 24;

// acts: { more(item), open(item) }; at: where the map was, "x,y,zoom" (none: the whole map); moved(at) when it has moved;
// children: what is shown while there is no map.
export function CollectionMap({ acts, at, moved, known, children }) {
  const { about, data } = useMap();
  const job = useSignal(mapJob);
  const drawing = ["queued", "running"].includes(job?.state);
  useEffect(() => { (data ? data.whole : Promise.resolve()).then(() => known(data), complain); }, [data]);
  if (about && !about.current && !drawing && ["failed", "cancelled", "paused"].includes(job?.state)) {
    return html`<p class="map-wait">${job.message} <button onClick=${() => draw()}>Draw the map</button></p>
      ${data ? html`<${Map_} key=${about.items} ...${{ data, acts, at, moved }} />` : children}`;
  }
  return html`
    ${drawing && html`<div class="working map-wait" role="status"><b>Drawing the map</b> <${Progress} job=${job} />
      <button onClick=${() => call(`/jobs/${job.id}/cancel`, { method: "POST" }).catch(complain)}>Cancel</button></div>`}
    ${data ? html`<${Map_} key=${about.items} ...${{ data, acts, at, moved }} />` : children}`;
}

// What the news told meanwhile is newer than the answer.
const draw = (before = mapJob.value) => call("/map", { method: "POST" })
  .then((job) => { if (mapJob.value === before) mapJob.value = job; }).catch(complain);

// The newest map; where it is not that of the newest index, it is drawn anew, once.
function useMap() {
  const [found, setFound] = useState({ about: null, data: null });
  const changed = useSignal(ticks.collection);
  const asked = useRef(0);
  useEffect(() => {
    let left = false;
    (async () => {
      const about = await call("/map");
      if (!about.current && asked.current !== about.generation + 1) {
        asked.current = about.generation + 1;
        draw();
      }
      const data = !about.items ? null : found.about?.items === about.items ? found.data : await loadMap(about);
      if (!left) setFound({ about, data });
    })().catch(() => {}); // a lost server is told of by the banner, and the next news asks again
    return () => { left = true; };
  }, [changed]);
  return found;
}

function Map_({ data, acts, at, moved }) {
  const host = useRef(null);
  const view = useRef(null);
  const chosen = useSignal(selected);
  const [lasso, setLasso] = useState(false);
  const [inView, setInView] = useState([]);
  const latest = useRef(null); // the view outlives a drawing, so it asks for the acts of the latest
  latest.current = { acts, moved };
  useEffect(() => {
    view.current = new MapView(host.current, data, at, {
      click: (i, more) => (more ? toggle(data.ids[i]) : latest.current.acts.open({ item: data.ids[i] })),
      drawn: (line, more) => choose(() => data.inside(line), more),
      settled: (where, box) => { setInView(data.within(box)); latest.current.moved(where); },
    });
    return () => view.current.close();
  }, []);
  useEffect(() => { view.current.lasso = lasso; }, [lasso]);
  useEffect(() => { view.current.redraw(); }, [chosen]);
  const choose = (found, more) => data.whole.then(() => {
    selected.value = new Set([...(more ? selected.value : []), ...Array.from(found(), (i) => data.ids[i])]);
  }, complain);
  const say = (text, run, label) => html`<button onClick=${run} aria-label=${label} title=${label}>${text}</button>`;
  return html`<div class="map">
    <div class="map-tools" role="toolbar" aria-label="Map">
      ${say("+", () => view.current.zoom(2), "Nearer")} ${say("−", () => view.current.zoom(0.5), "Farther")}
      <button onClick=${() => view.current.whole()}>Whole map</button>
      <button aria-pressed=${lasso ? "true" : "false"} onClick=${() => setLasso(!lasso)}
        title="Draw around photos to select them (or hold shift and drag)">◌ Lasso</button>
      <button onClick=${() => choose(() => data.within(view.current.box()), false)} disabled=${!inView.length}>Select all in view</button>
      <span class="soft" role="status">${count(inView.length)} of ${plural(data.count, "photo")} in view</span>
    </div>
    <div ref=${host} class=${`map-host ${lasso ? "lasso" : ""}`} tabindex="0" role="group"
      aria-label="Map of the collection: arrows move it, plus and minus zoom, 0 shows all. The photos in view are listed below."
      onKeyDown=${(event) => view.current.key(event)}><svg aria-hidden="true"><polygon /></svg>
      <div class="map-names" aria-hidden="true">${data.about.names.map(({ text }, at) => html`<span key=${at} hidden>${text}</span>`)}</div></div>
    <${InView} data=${data} inView=${inView} acts=${acts} />
  </div>`;
}

// The list twin: the pictures in view, the most prominent first.
function InView({ data, inView, acts }) {
  const [shown, setShown] = useState(LISTED);
  const [items, setItems] = useState([]);
  const wanted = Array.from(inView.slice(0, Math.min(shown, 1000)), (i) => data.ids[i]);
  useEffect(() => {
    if (!wanted.length) { setItems([]); return undefined; }
    const list = (page) => { rememberThumbnails(page.items); setItems(page.items); };
    return ask("/items/list", list, undefined, { body: { items: wanted } });
  }, [wanted.join()]);
  useShelf({ items });
  return html`<h2>In view</h2>
    ${!inView.length && html`<p class="soft">No photo is in view; go farther away or show the whole map.</p>`}
    <${Grid} results=${items} acts=${acts} label="Photos in view" />
    ${inView.length > shown && shown < 1000 && html`<p class="centre">
      <button onClick=${() => setShown(shown + LISTED)}>More of the ${count(inView.length)} in view</button></p>`}`;
}
