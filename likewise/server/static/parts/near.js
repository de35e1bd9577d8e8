// Queries near this one: what else was asked, or is a tag, for alike pictures.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { ask } from "/static/lib/api.js";
import { ticks } from "/static/lib/news.js";
import { blank, toParams } from "/static/lib/query.js";
import { Link } from "/static/lib/router.js";

export function Near({ text }) {
  const [found, setFound] = useState([]);
  const changed = useSignal(ticks.model);
  useEffect(() => {
    setFound([]);
    if (!text) return undefined;
    return ask(`/suggest?${new URLSearchParams({ text, k: 6 })}`, setFound);
  }, [text, changed]);
  if (!found.length) return null;
  return html`<p class="near soft">Near this: ${found.map((s, at) => html`${at > 0 && " · "}<${Link} key=${s.text}
    to="/results" params=${toParams({ ...blank, text: s.text })}>${s.text}<//>`)}</p>`;
}
