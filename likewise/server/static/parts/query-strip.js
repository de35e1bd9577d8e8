// The pictures of the query, each of which may be turned round, cropped or taken out.
import { html } from "/static/vendor/preact-htm.js";
import { useThumbnail } from "/static/parts/thumbnail.js";
import { view } from "/static/parts/viewer.js";

export function QueryStrip({ query, change }) {
  if (!query.examples.length) return null;
  const without = (at) => query.examples.filter((_, i) => i !== at);
  const put = (at, example) => change({ ...query, examples: query.examples.map((e, i) => (i === at ? example : e)) });
  return html`<ul class="strip" aria-label="Pictures of this query">${query.examples.map((e, at) => html`
    <${Example} key=${`${e.item || e.upload}-${e.crop || ""}`} e=${e}
      turn=${() => put(at, { ...e, weight: -e.weight })}
      drop=${() => change({ ...query, examples: without(at) })} />`)}</ul>`;
}

function Example({ e, turn, drop }) {
  const src = useThumbnail(e);
  const wanted = e.weight > 0;
  const kind = e.upload ? "your picture" : `picture ${e.item}`;
  return html`<li class=${wanted ? "wanted" : "unwanted"}>
    <div class="shown"><button class="picture" onClick=${() => view({ ...e, query: null })} title="View or crop" aria-label=${`View or crop ${kind}`}>
      ${src ? html`<img src=${src} alt="" />` : html`<span class="nothing">…</span>`}
    </button>${e.crop && html`<span class="badge">part</span>`}</div>
    <button onClick=${turn} title=${wanted ? "Wanted; click to search away from it" : "Unwanted; click to want it"}
      aria-label=${`${kind} is ${wanted ? "wanted; make it unwanted" : "unwanted; make it wanted"}`}>${wanted ? "+" : "−"}</button>
    <button onClick=${drop} title="Take it out" aria-label=${`Take ${kind} out of the query`}>×</button>
  </li>`;
}
