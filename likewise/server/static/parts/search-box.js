// Words, or a picture: typed, chosen, dropped or pasted.
import { html, useLayoutEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { go } from "/static/lib/router.js";
import { blank, toParams } from "/static/lib/query.js";
import { searchByFile } from "/static/lib/upload.js";
import { useWords } from "/static/lib/tag-words.js";

export function SearchBox({ query = blank, big = false }) {
  const [words, setWords] = useState(query.text);
  const file = useRef(null);
  const instance = useWords();
  useLayoutEffect(() => setWords(query.text), [query.text]);
  const search = (event) => {
    event.preventDefault();
    const next = { ...query, text: words.trim() };
    if (next.text || next.examples.length) go("/results", toParams(next));
  };
  const chosen = (event) => {
    if (event.target.files[0]) searchByFile(event.target.files[0]);
    event.target.value = "";
  };
  return html`<form class=${`search ${big ? "big" : ""}`} role="search" onSubmit=${search}>
    <input id="words" type="search" aria-label="Search by words" placeholder=${instance ? `Words, for instance: ${instance}` : "Words"}
      value=${words} onInput=${(e) => setWords(e.target.value)} autocomplete="off" maxlength="2000" />
    <button class="main">Search</button>
    <button type="button" onClick=${() => file.current.click()}
      title="You can also drop a picture anywhere, or paste one">By picture …</button>
    <input ref=${file} type="file" accept="image/*" hidden aria-hidden="true" tabindex="-1" onChange=${chosen} />
  </form>`;
}
