// The start of a target search: a sample of the photos, another one, words, an own photo; and
// the searches that were left open.
import { html, useEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { ask, call } from "/static/lib/api.js";
import { ago, plural } from "/static/lib/format.js";
import { useKeys } from "/static/lib/keys.js";
import { status, ticks } from "/static/lib/news.js";
import { Link, staying } from "/static/lib/router.js";
import { begin, note, show } from "/static/lib/target.js";
import { complain, say, unsay } from "/static/lib/toasts.js";
import { Grid } from "/static/parts/grid.js";
import { Wanted, given, startStudy, study } from "/static/parts/study.js";
import { useShelf, view } from "/static/parts/viewer.js";

const FIRST = 40;
const SIZES = [20, 30, 40, 50];
const WAYS = [
  ["way", "The next board shows", [["", "what is likely after all you said"], ["paper", "what is nearest by your last order"]]],
  ["orders", "Orders that count", [["", "the usual ones"], ["all", "of all rounds"], ["latest", "of the last round"]]],
  ["layout", "Photos lie", [["", "freely"], ["grid", "on a grid, none over another"]]],
];
const stored = () => (SIZES.includes(Number(localStorage.getItem("likewise-board"))) ? Number(localStorage.getItem("likewise-board")) : 30);

export function Begin() {
  const at = useSignal(status);
  const changed = useSignal(ticks.collection);
  const [pictures, setPictures] = useState([]);
  const [shown, setShown] = useState(stored());
  const [ways, setWays] = useState({});
  const now = useSignal(study);
  const looking = now && now.at < now.items.length && now;
  const [busy, setBusy] = useState(false);
  const file = useRef(null);
  useEffect(() => ask(`/representatives?count=${FIRST}`, (page) => setPictures(page.items)), [changed]);
  useEffect(() => localStorage.setItem("likewise-board", shown), [shown]);

  const start = async (asked, then) => {
    setBusy(true);
    const still = staying();
    try {
      const chosen = Object.fromEntries(Object.entries(ways).filter(([, value]) => value));
      const board = await begin({ shown, ...chosen, ...(looking && given(looking)), ...asked });
      if (then) await note(board, then);
      if (still()) show(board.session, board.round);
    } catch (error) {
      complain(error);
      setBusy(false);
    }
  };
  const first = pictures.map((p) => p.item);
  const words = (event) => {
    event.preventDefault();
    const text = event.target.elements.text.value.trim();
    if (text) start({ query: { text } });
  };
  const own = async (event) => {
    const chosen = event.target.files[0];
    event.target.value = "";
    if (!chosen) return;
    const working = say("Looking at your photo …", { lasting: 0 });
    try {
      const { upload } = await call("/uploads", { raw: chosen });
      await start({ query: { examples: [{ upload }] } });
    } catch (error) { complain(error); } finally { unsay(working); }
  };
  if (at && !at.findable) {
    return html`<section class="target"><h1>Find one</h1><div class="empty"><h2>Nothing to search yet</h2>
      <p>Put some photos in first; look for new ones under <${Link} to="/jobs">Jobs<//>.</p></div></section>`;
  }
  return html`<section class="target begin">
    <h1>Find one photo that you have in mind</h1>
    <${Wanted} />
    <p class="soft hint">Point at the photo below that is closest to it and press Closest. On each board that follows, search
      from the closest one and name one or two more that are close to it too; that finds it soonest.</p>
    <div class="tools">
      <button disabled=${busy} onClick=${() => start({ begin: "random" })}>Another sample</button>
      <form class="search" onSubmit=${words}><input name="text" type="search" aria-label="Begin with words" placeholder="Begin with words" maxlength="2000" autocomplete="off" />
        <button disabled=${busy}>Begin</button></form>
      <button disabled=${busy} onClick=${() => file.current.click()}>Begin with a photo …</button>
      <input ref=${file} type="file" accept="image/*" hidden aria-hidden="true" tabindex="-1" onChange=${own} />
      <label>Photos on a board <select value=${shown} onChange=${(e) => setShown(Number(e.target.value))}>
        ${SIZES.map((n) => html`<option key=${n} value=${n}>${n}</option>`)}</select></label>
      <details class="ways"><summary>Details</summary>
        ${WAYS.map(([name, label, choices]) => html`<label key=${name}>${label} <select value=${ways[name] || ""} onChange=${(e) => setWays({ ...ways, [name]: e.target.value })}>
          ${choices.map(([value, says]) => html`<option key=${value} value=${value}>${says}</option>`)}</select></label> `)}
        <button onClick=${startStudy} title="Ten photos to look for, both ways of searching by turns, times and steps as CSV">Start a study</button>
      </details>
    </div>
    <${Open} />
    <h2>Which is closest to the one you look for?</h2>
    <${Gallery} pictures=${pictures} busy=${busy} label="A sample of your photos"
      choose=${(p) => start({ first, choose: p.item })} found=${(p) => start({ first }, { kind: "found", items: [p.item] })} />
  </section>`;
}

const began = ({ origin }) =>
  origin.text ? `“${origin.text}”` : origin.examples?.length ? "a photo" : origin.begin === "random" ? "another sample" : origin.listed ? "chosen photos" : "a sample of your photos";

function Open() {
  const [list, setList] = useState([]);
  useEffect(() => ask("/sessions?limit=6", (page) => setList(page.sessions)), []);
  if (!list.length) return null;
  const open = list.filter((s) => s.state === "open" && s.rounds > 0);
  return html`<p class="open-searches">
    ${open.length > 0 && html`<b>Go on with: </b>`}
    ${open.map((s) => html`<${Link} key=${s.session} to="/target" params=${new URLSearchParams({ session: s.session })}>search ${s.session}
      <span class="soft"> from ${began(s)}, ${plural(s.rounds, "round")}, ${ago(s.started)}</span><//> `)}
    <a href="/api/v1/steps.csv" download>Times of all searches as CSV</a></p>`;
}

// Photos to begin from: which is closest to the one you look for?
const CLOSEST = "Closest";
const FOUND = "This is it";

export function Gallery({ pictures, choose, found, busy, label }) {
  const at = () => pictures.find((p) => String(p.item) === document.activeElement?.closest(".card")?.dataset.item) || pictures[0];
  const off = busy || !pictures.length;
  useKeys([
    { keys: ["q"], shown: "Q", says: "closest: search from this photo", off, run: () => choose(at()) },
    { keys: ["i"], shown: "I", says: "this is it: found", off, run: () => found(at()) },
  ]);
  useShelf({ items: pictures, more: off ? [] : [[CLOSEST, choose], [FOUND, found]] });
  const acts = { open: view, further: (p) => (off ? [] : [[CLOSEST, () => choose(p)], [FOUND, () => found(p)]]) };
  return html`<div class="gallery"><${Grid} results=${pictures} acts=${acts} label=${label} /></div>`;
}
