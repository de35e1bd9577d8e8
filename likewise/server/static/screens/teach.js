// Teach: one photo, others beside it one by one, a key a mark.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { ask, call, useAsk } from "/static/lib/api.js";
import { ago, count, plural } from "/static/lib/format.js";
import { KEY, arrows, useKeys } from "/static/lib/keys.js";
import { ticks } from "/static/lib/news.js";
import { judge as send, undo, undoLast } from "/static/lib/outbox.js";
import { asked, likeItem } from "/static/lib/query.js";
import { Link, go, staying } from "/static/lib/router.js";
import { complain } from "/static/lib/toasts.js";
import { Learn } from "/static/parts/learn.js";
import { useThumbnail } from "/static/parts/thumbnail.js";
import { useShelf, view } from "/static/parts/viewer.js";

// Photos beside one that somebody chose, and beside each typical photo of the first lesson.
const [COUNT, LESSON] = [20, 5];
const address = ({ reference, lesson }) =>
  (reference ? new URLSearchParams({ item: reference.item, ...(lesson > 0 && { lesson: 1 }) }) : null);

export function Teach({ params }) {
  const item = Number(params.get("item")) || 0;
  const [skipped, setSkipped] = useState([]);
  const progress = useProgress(skipped, item);
  const lesson = params.has("lesson");
  // Arriving without a query means: the next one that nobody has taught.
  useEffect(() => {
    if (!item && progress?.reference) go("/teach", address(progress), { replace: true });
  }, [item, progress?.reference?.item]);
  const next = () => {
    const list = item ? [...skipped, item].slice(-200) : skipped;
    setSkipped(list);
    const still = staying();
    call(nextReference(list)).then((found) => { if (still()) go("/teach", address(found)); }).catch(complain);
  };
  return html`<section class="teach">
    <h1>Teach</h1>
    <p class="soft">Which of these photos would you want for the one that is shown first? Your feedback
      changes searches with it at once, and others after learning.</p>
    <${Tally} progress=${progress} lesson=${lesson} />
    ${item
      ? html`<${Labelling} key=${item} item=${item} next=${next} lesson=${lesson} />`
      : progress && html`<div class="empty"><h2>${progress.judgements ? "Every suggested photo is taught" : "Nothing to teach yet"}</h2>
          <p>${progress.judgements ? "Learn now, or open one of " : "Put some photos in first; then open one of "}
          <${Link} to="/">your photos<//> and press “Teach with this”.</p></div>`}
    <${Learn} ready=${progress?.new} taught=${progress?.judgements > 0} />
    <${History} />
  </section>`;
}

const nextReference = (skip) =>
  `/teach/next?${new URLSearchParams(skip.map((i) => ["skip", i]))}`;

function useProgress(skipped, item) {
  const [progress, setProgress] = useState(null);
  const changed = [useSignal(ticks.judgements), useSignal(ticks.collection)].join();
  useEffect(() => ask(nextReference(skipped), setProgress), [changed, item]);
  return progress;
}

function Tally({ progress, lesson }) {
  if (!progress) return null;
  return html`<p class="health" role="status">${lesson && progress.lesson > 0 && html`<b>The first lesson:</b>
    ${" "}${plural(progress.lesson, "typical photo")} of yours to go, ${LESSON} others beside each. `}${plural(progress.judgements, "mark")} on
    ${" "}${plural(progress.queries, "photo")}; ${plural(progress.both, "photo has", "photos have")} both right and wrong ones.</p>`;
}

function Labelling({ item, next, lesson }) {
  const query = likeItem(item);
  const [list, setList] = useState(null);
  const [at, setAt] = useState(0);
  const [said, setSaid] = useState({});
  const src = useThumbnail({ item });
  useEffect(() => ask("/teach/candidates", (answer) => setList(answer.items), (error) => setList({ error: error.message }),
    { body: { ...asked(query), count: lesson ? LESSON : COUNT } }), []);
  const now = Array.isArray(list) ? list[at] : null;
  // A lesson goes on by itself.
  useEffect(() => { if (lesson && list?.length && at === list.length) next(); }, [at]);
  const mark = (relevant) => {
    if (!now) return;
    setSaid({ ...said, [now.item]: relevant });
    setAt(at + 1);
    send(asked(query), [now.item], relevant).catch(() => {});
  };
  const undo = async () => {
    const taken = await undoLast().catch(complain);
    if (!taken || !Array.isArray(list)) return;
    const place = list.findIndex((r) => r.item === taken.items[0]);
    setSaid(({ [taken.items[0]]: _, ...rest }) => rest);
    if (place >= 0 && taken.query.examples?.[0]?.item === item) setAt(place);
  };
  const skip = () => now && setAt(at + 1);
  useKeys([
    { ...KEY.right, off: !now, run: () => mark(true) },
    { ...KEY.wrong, off: !now, run: () => mark(false) },
    { keys: ["s"], shown: "S", says: "skip this photo", off: !now, run: skip },
    ...arrows({ right: skip, left: () => setAt(Math.max(0, at - 1)) }),
    { ...KEY.open, off: !now, run: () => view(now) },
    { ...KEY.undo, run: undo },
    { keys: ["Enter"], shown: "Enter", says: "another photo to teach with", run: next },
  ]);
  useShelf({ items: Array.isArray(list) ? list : [] });
  if (!list) return html`<p class="soft">Looking for photos …</p>`;
  if (list.error) return html`<p class="error" role="alert">${list.error}</p>`;
  return html`<div class="labelling">
    <figure><figcaption>For this photo</figcaption>${src && html`<img src=${src} alt="the photo that is taught" />`}
      <button onClick=${next}>Another photo <kbd>Enter</kbd></button></figure>
    <figure class="candidate" aria-live="polite"><figcaption>${now ? `Photo ${at + 1} of ${list.length}` : "Done"}</figcaption>
      ${now
        ? html`<img src=${now.picture || now.thumbnail} alt=${now.name} />`
        : html`<div class="empty"><h2>${list.length ? "All done" : "No photos left"}</h2><p>On to another photo, or learn now.</p></div>`}
      <div class="buttons big">
        <button class="no" disabled=${!now} onClick=${() => mark(false)}>✗ Wrong <kbd>N</kbd></button>
        <button disabled=${!now} onClick=${skip}>Skip <kbd>S</kbd></button>
        <button class="yes" disabled=${!now} onClick=${() => mark(true)}>✓ Right <kbd>R</kbd></button>
        <button onClick=${undo}>Undo <kbd>U</kbd></button>
      </div></figure>
    <ol class="upcoming" aria-label="Photos to judge">${list.map((r, place) => {
      const verdict = r.item in said ? (said[r.item] ? "right" : "wrong") : "";
      return html`<li key=${r.item} class=${`${verdict} ${place === at ? "now" : ""}`}>
        <button onClick=${() => setAt(place)} aria-label=${`Photo ${place + 1}${verdict && `, marked ${verdict}`}`}
          aria-current=${place === at ? "true" : null}><img src=${r.thumbnail} alt="" loading="lazy" /></button></li>`;
    })}</ol>
  </div>`;
}

// Your feedback: the latest of it, each with its undo.
function History() {
  const [page, setPage] = useState({ records: [], next: null, counting: 0 });
  const changed = useSignal(ticks.judgements);
  const asking = useAsk();
  const load = (cursor, before) =>
    asking(`/judgements?limit=20&cursor=${cursor}`, (found) => setPage({ ...found, records: [...before, ...found.records] }));
  useEffect(() => { load(0, []); }, [changed]);
  if (!page.records.length) return null;
  return html`<details class="history"><summary>Your feedback (${count(page.counting)})</summary>
    <ul>${page.records.map((r) => html`<${Said} key=${r.id} r=${r} />`)}</ul>
    ${page.next && html`<button onClick=${() => load(page.next, page.records)}>Older ones</button>`}</details>`;
}

const VERBS = { click: "opened for", ordering: "put in order for" };

function Said({ r }) {
  const verb = VERBS[r.kind] || (r.value > 0 ? "right for" : "wrong for");
  return html`<li>
    ${r.items.slice(0, 5).map((item) => html`<${Small} key=${item} item=${item} />`)}
    <span class=${r.kind === "label" ? (r.value > 0 ? "right" : "wrong") : ""}>${verb}</span>
    ${r.query.text ? html`<q>${r.query.text}</q>` : html`<${Small} item=${r.query.item} upload=${r.query.upload} />`}
    <span class="soft">${r.person || "somebody"}, ${ago(r.time)}</span>
    <button onClick=${() => undo(r.id).catch(complain)}>Undo</button></li>`;
}

function Small({ item, upload }) {
  const src = useThumbnail({ item, upload });
  return src ? html`<img src=${src} alt=${item ? `picture ${item}` : "an uploaded picture"} />` : null;
}
