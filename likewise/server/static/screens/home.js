// Home: how the collection is, and all of it as a map, or a sample of it.
import { html, useEffect, useMemo, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { ask } from "/static/lib/api.js";
import { count, plural } from "/static/lib/format.js";
import { useModule } from "/static/lib/modules.js";
import { arrived, jobs, running, status, ticks } from "/static/lib/news.js";
import { blank, likeItem, toParams, withExample } from "/static/lib/query.js";
import { Link, go } from "/static/lib/router.js";
import { selectNone } from "/static/lib/selection.js";
import { Grid } from "/static/parts/grid.js";
import { Progress, title } from "/static/parts/progress.js";
import { Searches } from "/static/parts/searches.js";
import { SelectionBar } from "/static/parts/selection-bar.js";
import { rememberThumbnails } from "/static/parts/thumbnail.js";
import { useShelf, view } from "/static/parts/viewer.js";

const SHOWN = 36;
const MAP = () => import("/static/parts/map.js");
const TAKES_IN = ["index", "demo"];

export function Home({ params }) {
  const at = useSignal(status);
  const busy = running(useSignal(jobs));
  const coming = busy && TAKES_IN.includes(busy.kind) && (busy.total - busy.done) * 2 > (at?.findable || 0);
  const items = useSample(at?.findable || 0, coming);
  const [onMap, setOnMap] = useState(null);
  const view_ = params.get("view") || "pictures";
  const mapped = view_ === "map" && at?.generation > 0 && !coming;
  const CollectionMap = useModule(MAP, mapped)?.CollectionMap;
  const acts = {
    more: at?.findable > 0 && ((r) => go("/results", toParams(likeItem(r.item)))),
    open: view,
  };
  const add = (chosen, weight) => {
    selectNone();
    go("/results", toParams(chosen.slice(0, 50).reduce((query, item) => withExample(query, { item, weight }), blank)));
  };
  const moved = (where) => go("/", new URLSearchParams({ view: "map", ...(where && { at: where }) }), { replace: true });
  const says = coming ? "Photos just read" : "A sample of your photos";
  const stand = items.length > 0 && html`<h2>${says}</h2><${Grid} results=${items} acts=${acts} label=${says} />`;
  useShelf(mapped ? null : { items });
  const selectable = useMemo(() => (mapped && onMap ? Array.from(onMap.ids, (item) => ({ item })) : items), [mapped, onMap, items]);
  return html`<section class="home">
    <div class="strip"><h1 class=${mapped ? "sr-only" : ""}>Your photos</h1><span class="gap"></span>${at && html`<${Health} at=${at} coming=${coming} />`}</div>
    ${!coming && !mapped && html`<${Searches} />`}
    ${busy && html`<div class="working"><b>${title(busy)}</b> <${Progress} job=${busy} />${busy.message && html`<p class="soft">${busy.message}</p>`}</div>`}
    ${mapped && CollectionMap
      ? html`<${CollectionMap} acts=${acts} at=${params.get("at")} moved=${moved} known=${setOnMap}>${stand}<//>`
      : stand}
    ${at && !at.findable && !busy && html`<${Empty} at=${at} />`}
    <${SelectionBar} results=${selectable} add=${add} open=${acts.open} />
  </section>`;
}

// While pictures come in those that were read last, then some that stand for all.
function useSample(findable, coming) {
  const [items, setItems] = useState([]);
  const changed = useSignal(ticks.collection);
  const news = useSignal(arrived);
  const what = coming ? "arrivals" : findable > 0 && "representatives";
  useEffect(() => {
    if (!what) return undefined;
    return ask(`/${what}?count=${SHOWN}`, (page) => { rememberThumbnails(page.items); setItems(page.items); });
  }, [what, changed, coming && news]);
  return items;
}

function Health({ at, coming }) {
  const read = at.items.decoded + at.items.embedded + at.items.indexed;
  const parts = [
    at.findable || !coming ? `${plural(at.findable, "photo")} can be found` : `${plural(read, "photo")} read; searching begins in a moment`,
    !coming && at.waiting > 0 && `${count(at.waiting)} waiting`,
    at.judgements > 0 && `feedback given ${plural(at.judgements, "time")}`,
  ].filter(Boolean);
  return html`<p class="health" role="status">${parts.join(" · ")}
    ${at.items.problem > 0 && html` · <${Link} to="/jobs">${count(at.items.problem)} unreadable<//>`}
    ${at.unreachable > 0 && html` · <span title=${at.unreachable_folders.join("\n")}>${count(at.unreachable)} unreachable</span>`}
    ${at.degraded && html`<br /><span class="soft">${at.degraded}</span>`}</p>`;
}

function Empty({ at }) {
  return html`<div class="empty">
    <h2>No photos yet</h2>
    <p>Put photos into the folder <b>${at.name}</b>, then look for new ones under <${Link} to="/jobs">Jobs<//>.</p>
  </div>`;
}
