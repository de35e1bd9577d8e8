// Home: a search box, how the collection is, and all of it as a map or by pictures that stand for it.
import { html, useEffect, useMemo, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { ask } from "/static/lib/api.js";
import { count, plural } from "/static/lib/format.js";
import { jobs, running, status, ticks } from "/static/lib/news.js";
import { blank, likeItem, toParams, withExample } from "/static/lib/query.js";
import { Link, go } from "/static/lib/router.js";
import { selectNone } from "/static/lib/selection.js";
import { Grid } from "/static/parts/grid.js";
import { CollectionMap } from "/static/parts/map.js";
import { Progress, title } from "/static/parts/progress.js";
import { SearchBox } from "/static/parts/search-box.js";
import { SelectionBar } from "/static/parts/selection-bar.js";
import { rememberThumbnails } from "/static/parts/thumbnail.js";
import { view } from "/static/parts/viewer.js";

const SHOWN = 36;
const MAP_FROM = 200; // a smaller collection is seen sooner without a map

export function Home({ params }) {
  const at = useSignal(status);
  const busy = running(useSignal(jobs));
  const items = useRepresentatives(at?.findable || 0);
  const [onMap, setOnMap] = useState(null);
  const view_ = params.get("view") || (at?.findable >= MAP_FROM ? "map" : "pictures");
  const mapped = view_ === "map" && at?.generation > 0;
  const acts = {
    more: (r) => go("/results", toParams(likeItem(r.item))),
    open: (r) => view({ item: r.item }),
  };
  const add = (chosen, weight) => {
    selectNone();
    go("/results", toParams(chosen.slice(0, 50).reduce((query, item) => withExample(query, { item, weight }), blank)));
  };
  const show = (next) => { selectNone(); go("/", new URLSearchParams({ view: next }), { replace: true }); };
  const moved = (where) => go("/", new URLSearchParams({ view: "map", at: where }), { replace: true });
  const stand = items.length > 0 && html`<h2>Pictures that stand for the collection</h2>
    <${Grid} results=${items} acts=${acts} label="Pictures that stand for the collection" />`;
  const selectable = useMemo(() => (mapped && onMap ? Array.from(onMap.ids, (item) => ({ item })) : items), [mapped, onMap, items]);
  return html`<section class="home">
    <h1>Find by words or by picture</h1>
    <${SearchBox} big=${true} />
    <p class="soft hint">Drop a picture anywhere, paste one, or press ≈ on one below. Then mark results
      with ✓ or ✗: this search gets better at once.</p>
    ${busy && html`<div class="working"><b>${title(busy)}</b> <${Progress} job=${busy} /></div>`}
    ${at && html`<${Health} at=${at} />`}
    ${at?.generation > 0 && html`<p class="views" role="group" aria-label="View">
      ${[["map", "Map"], ["pictures", "Pictures"]].map(([name, says]) => html`<button key=${name}
        aria-pressed=${view_ === name ? "true" : "false"} onClick=${() => show(name)}>${says}</button>`)}</p>`}
    ${mapped
      ? html`<${CollectionMap} acts=${acts} at=${params.get("at")} moved=${moved} known=${setOnMap}>${stand}<//>`
      : stand}
    ${at && !at.findable && !busy && html`<${Empty} at=${at} />`}
    <${SelectionBar} results=${selectable} add=${add} open=${acts.open} />
  </section>`;
}

function useRepresentatives(findable) {
  const [items, setItems] = useState([]);
  const changed = useSignal(ticks.collection);
  // While pictures come in, look again when there are half as many more.
  const step = findable ? Math.floor(Math.log(findable) / Math.log(1.5)) : -1;
  useEffect(() => {
    if (step < 0) return undefined;
    return ask(`/representatives?count=${SHOWN}`, (page) => { rememberThumbnails(page.items); setItems(page.items); });
  }, [step, changed]);
  return items;
}

function Health({ at }) {
  const parts = [
    `${plural(at.findable, "picture")} can be found`,
    at.waiting > 0 && `${count(at.waiting)} waiting`,
    at.judgements > 0 && plural(at.judgements, "judgement"),
    `ranked by ${at.model}`,
  ].filter(Boolean);
  return html`<p class="health" role="status">${parts.join(" · ")}
    ${at.items.problem > 0 && html` · <${Link} to="/jobs">${count(at.items.problem)} unreadable<//>`}
    ${at.unreachable > 0 && html` · <span title=${at.unreachable_folders.join("\n")}>${count(at.unreachable)} unreachable</span>`}
    ${at.degraded && html`<br /><span class="soft">${at.degraded}</span>`}</p>`;
}

function Empty({ at }) {
  return html`<div class="empty">
    <h2>No pictures yet</h2>
    <p>Put pictures into the folder <b>${at.name}</b>, then look for new ones under <${Link} to="/jobs">Jobs<//>.</p>
  </div>`;
}
