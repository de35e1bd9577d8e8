// One field for everything: photos as pills in it, words beside them; a photo is chosen, dropped or pasted.
import { html, useEffect, useLayoutEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { signal, useSignal } from "/static/lib/signal.js";
import { ask } from "/static/lib/api.js";
import { status } from "/static/lib/news.js";
import { go } from "/static/lib/router.js";
import { blank, toParams } from "/static/lib/query.js";
import { searchByFile } from "/static/lib/upload.js";
import { useThumbnail } from "/static/parts/thumbnail.js";
import { view } from "/static/parts/viewer.js";

export function SearchBox({ query = blank }) {
  const [words, setWords] = useState(query.text);
  const [asking, setAsking] = useState(false);
  const file = useRef(null);
  const instance = useWords();
  const both = useRef(null);
  useLayoutEffect(() => { setWords(query.text); setAsking(false); }, [query.text, query.examples.length]);
  useLayoutEffect(() => { if (asking) both.current.focus(); }, [asking]);
  const put = (next) => { setAsking(false); if (next.text || next.examples.length) go("/results", toParams(next)); };
  const search = (event) => {
    event.preventDefault();
    const text = words.trim();
    if (text && text !== query.text && query.examples.length) setAsking(true);
    else put({ ...query, text });
  };
  const chosen = (event) => {
    if (event.target.files[0]) searchByFile(event.target.files[0]);
    event.target.value = "";
  };
  const examples = (change) => put({ ...query, text: words.trim(), examples: change });
  return html`<form class="search" role="search" onSubmit=${search} onKeyDown=${(e) => e.key === "Escape" && setAsking(false)}>
    ${query.examples.length > 0 && html`<ul class="examples" aria-label="Photos of this search">${query.examples.map((e, at) => html`
      <${Example} key=${`${e.item || e.upload}-${e.crop || ""}`} e=${e}
        turn=${() => examples(query.examples.map((one, i) => (i === at ? { ...e, weight: -e.weight } : one)))}
        drop=${() => examples(query.examples.filter((_, i) => i !== at))} />`)}</ul>`}
    <input id="words" type="search" aria-label="Search by words" placeholder=${query.examples.length ? "Add words" : instance ? `Words, for instance: ${instance}` : "Words"}
      value=${words} onInput=${(e) => setWords(e.target.value)} autocomplete="off" maxlength="2000" enterkeyhint="search" />
    <button class="quiet" aria-label="Search" title="Search"><svg viewBox="0 0 20 20" aria-hidden="true"><circle cx="9" cy="9" r="5.5" /><path d="m13.5 13.5 4 4" /></svg></button>
    <button type="button" class="quiet" onClick=${() => file.current.click()} aria-label="By picture"
      title="By picture: choose a photo; you can also drop one anywhere, or paste one"><svg viewBox="0 0 20 20" aria-hidden="true"><rect x="2.5" y="4.5" width="15" height="11.5" rx="2" /><path d="m4 14 4-4.5 3 3 2-2 3.5 3.5" /><circle cx="13.5" cy="8" r="1.2" /></svg></button>
    <input ref=${file} type="file" accept="image/*" hidden aria-hidden="true" tabindex="-1" onChange=${chosen} />
    ${asking && html`<p class="which" role="group" aria-label="What to search for">Search for “${words.trim()}” together with the ${query.examples.length === 1 ? "photo" : "photos"}?
      <button ref=${both} type="button" class="main" onClick=${() => put({ ...query, text: words.trim() })}>Both</button>
      <button type="button" onClick=${() => put({ ...query, text: words.trim(), examples: [] })}>Words only</button></p>`}
  </form>`;
}

function Example({ e, turn, drop }) {
  const src = useThumbnail(e);
  const wanted = e.weight > 0;
  const kind = e.upload ? "your photo" : `photo ${e.item}`;
  return html`<li class=${wanted ? "wanted" : "unwanted"}>
    <button type="button" class="picture" onClick=${() => view(e)} title="Open, or search for a part of it" aria-label=${`Open ${kind}`}>
      ${src ? html`<img src=${src} alt="" />` : html`<span class="nothing">…</span>`}</button>
    ${e.crop && html`<span class="part">part</span>`}
    <button type="button" onClick=${turn} title=${wanted ? "Like this; press for: not like this" : "Not like this; press for: like this"}
      aria-label=${`${kind} is ${wanted ? "wanted; make it unwanted" : "unwanted; make it wanted"}`}>${wanted ? "+" : "−"}</button>
    <button type="button" onClick=${drop} title="Take it out" aria-label=${`Take ${kind} out of the search`}>×</button>
  </li>`;
}

// A word or two that this collection knows, for the field to suggest: some of its commonest tags.
const ASKED = 12;
const words = signal("");
let asked = "";

function useWords() {
  const at = useSignal(status);
  const now = at?.findable > 0 ? `${at.server} ${at.generation}` : "";
  useEffect(() => {
    if (!now || asked === now) return;
    asked = now;
    ask(`/tags?limit=${ASKED}`, (tags) => {
      const short = tags.map(({ tag }) => tag).filter((tag) => tag.length < 20);
      const at = [0, Math.floor(short.length / 2)];
      words.value = [...new Set(at.map((nth) => short[nth]))].filter(Boolean).join(", ");
    }, () => { asked = ""; });
  }, [now]);
  return useSignal(words);
}
