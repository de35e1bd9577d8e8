// Queries near this one: what else was asked, or is a tag, for alike pictures.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { call, isAbort } from "/static/lib/api.js";
import { ticks } from "/static/lib/news.js";
import { blank, toParams } from "/static/lib/query.js";
import { Link } from "/static/lib/router.js";

export function Near({ text }) {
  const [found, setFound] = useState([]);
  const changed = useSignal(ticks.model);
  useEffect(() => {
    setFound([]);
    if (!text) return undefined;
    const stop = new AbortController();
    call(`/suggest?${new URLSearchParams({ text, k: 6 })}`, { abort: stop.signal })
      .then(setFound)
      .catch((error) => isAbort(error) || setFound([]));
    return () => stop.abort();
  }, [text, changed]);
  if (!found.length) return null;
  return html`<p class="near soft">Near this: ${found.map((s, at) => html`${at > 0 && " · "}<${Link} key=${s.text}
    to="/results" params=${toParams({ ...blank, text: s.text })}>${s.text}<//>`)}</p>`;
}
