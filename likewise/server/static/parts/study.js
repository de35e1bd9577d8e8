// A study: photos are given to be looked for, one after another, the two ways of searching by turns.
import { html } from "/static/vendor/preact-htm.js";
import { useSignal, signal } from "/static/lib/signal.js";
import { call } from "/static/lib/api.js";
import { go } from "/static/lib/router.js";
import { complain } from "/static/lib/toasts.js";
import { useThumbnail } from "/static/parts/thumbnail.js";

const KEY = "likewise-study";
const GIVEN = 10;
const TURNS = ["ours", "paper"];
export const study = signal(JSON.parse(sessionStorage.getItem(KEY) || "null"));
const put = (next) => { study.value = next; next ? sessionStorage.setItem(KEY, JSON.stringify(next)) : sessionStorage.removeItem(KEY); };

// Photos at random; which way comes first is left to chance too.
export async function startStudy() {
  try {
    const seed = crypto.getRandomValues(new Uint32Array(1))[0] >>> 1;
    const { pictures } = await call("/boards", { body: { begin: "random", seed } });
    put({ items: pictures.slice(0, GIVEN).map((p) => p.item), at: 0, turn: seed % 2 });
  } catch (error) { complain(error); }
}

// What a search of the study begins with.
export const given = ({ items, at, turn }) => ({ looked_for: items[at], way: TURNS[(at + turn) % 2] });

export function nextOne() {
  const { at, ...rest } = study.value;
  put({ ...rest, at: at + 1 });
  go("/target", new URLSearchParams());
}

export function Wanted() {
  const now = useSignal(study);
  if (!now) return null;
  if (now.at >= now.items.length) {
    return html`<section class="ended" aria-label="The study"><div><h2>That was the last one. Thank you.</h2>
      <p class="buttons"><a class="button main" href="/api/v1/steps.csv" download>Times and steps as CSV</a> <button onClick=${() => put(null)}>End the study</button></p></div></section>`;
  }
  return html`<section class="ended" aria-label="The study"><${Photo} key=${now.items[now.at]} item=${now.items[now.at]} />
    <div><h2>Look for this photo (${now.at + 1} of ${now.items.length})</h2><p class="buttons"><button onClick=${() => put(null)}>End the study</button></p></div></section>`;
}

function Photo({ item }) {
  const src = useThumbnail({ item });
  return src ? html`<img class="end-picture" src=${src} alt="the photo to look for" />` : html`<span class="end-picture"></span>`; // keeps its room
}
