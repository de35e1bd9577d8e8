// Home: a search box, pictures that stand for the collection, and how it is.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { call } from "/static/lib/api.js";
import { count, plural } from "/static/lib/format.js";
import { jobs, running, status, ticks } from "/static/lib/news.js";
import { likeItem, toParams } from "/static/lib/query.js";
import { Link, go } from "/static/lib/router.js";
import { Grid } from "/static/parts/grid.js";
import { Progress, title } from "/static/parts/progress.js";
import { SearchBox } from "/static/parts/search-box.js";
import { rememberThumbnails } from "/static/parts/thumbnail.js";
import { view } from "/static/parts/viewer.js";

const SHOWN = 36;

export function Home() {
  const at = useSignal(status);
  const busy = running(useSignal(jobs));
  const items = useRepresentatives(at?.findable || 0);
  const acts = {
    more: (r) => go("/results", toParams(likeItem(r.item))),
    open: (r) => view({ item: r.item }),
  };
  return html`<section class="home">
    <h1>Find by words or by picture</h1>
    <${SearchBox} big=${true} />
    <p class="soft hint">Drop a picture anywhere, paste one, or press ≈ on one below. Then mark results
      with ✓ or ✗: this search gets better at once.</p>
    ${busy && html`<div class="working"><b>${title(busy)}</b> <${Progress} job=${busy} /></div>`}
    ${at && html`<${Health} at=${at} />`}
    ${items.length > 0 && html`<h2>Pictures that stand for the collection</h2>`}
    ${items.length > 0 && html`<${Grid} results=${items} acts=${acts} label="Pictures that stand for the collection" />`}
    ${at && !at.findable && !busy && html`<${Empty} at=${at} />`}
  </section>`;
}

function useRepresentatives(findable) {
  const [items, setItems] = useState([]);
  const changed = useSignal(ticks.collection);
  // While pictures come in, look again when there are half as many more.
  const step = findable ? Math.floor(Math.log(findable) / Math.log(1.5)) : -1;
  useEffect(() => {
    if (step < 0) return;
    call(`/representatives?count=${SHOWN}`)
      .then((page) => { rememberThumbnails(page.items); setItems(page.items); })
      .catch(() => {});
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
    ${at.degraded && html`<br /><span class="soft">${at.degraded}</span>`}</p>`;
}

function Empty({ at }) {
  return html`<div class="empty">
    <h2>No pictures yet</h2>
    <p>Put pictures into the folder <b>${at.name}</b>, then look for new ones under <${Link} to="/jobs">Jobs<//>.</p>
  </div>`;
}
