// Results: what was found, best first; every mark acts at once, shows, and can be taken back.
import { html, useEffect, useLayoutEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { ask, call } from "/static/lib/api.js";
import { useModule } from "/static/lib/modules.js";
import { count, plural } from "/static/lib/format.js";
import { KEY, useKeys } from "/static/lib/keys.js";
import { ticks } from "/static/lib/news.js";
import { click, judge as send, takeBack, undoLast } from "/static/lib/outbox.js";
import { asked, blank, canJudge, filtersOf, fromParams, isEmpty, likeItem, markOf, toParams, withExample } from "/static/lib/query.js";
import { Link, go } from "/static/lib/router.js";
import { selectNone } from "/static/lib/selection.js";
import { complain, say } from "/static/lib/toasts.js";
import { useAnswer } from "/static/parts/answers.js";
import { Feedback, news, said } from "/static/parts/feedback.js";
import { Filters } from "/static/parts/filters.js";
import { Grid } from "/static/parts/grid.js";
import { Offers } from "/static/parts/offers.js";
import { SelectionBar } from "/static/parts/selection-bar.js";
import { known } from "/static/parts/thumbnail.js";
import { useShelf, view } from "/static/parts/viewer.js";

const REST = 500; // milliseconds in which a second click at the same spot is none
const SPOT = 40; // pixels
const STEP = 60;
const MOST = 1000;
const BOARD = () => import("/static/parts/board-view.js");
const SORTED = () => import("/static/parts/sorted.js");

export function Results({ params }) {
  const query = fromParams(params);
  const whole = query.order in ORDERS ? { ...query, k: MOST } : query; // put in order is all of it, however much is shown
  const main = useAnswer(whole, query.model);
  const marks = useMarks(query, main);
  const before = useAnswer(whole, query.model, marks.feedback.length > 0, true);
  const [held, setHeld] = useState(false);
  const holding = held && !!before.answer;
  const alone = ["plain", "before"].includes(query.compare); // as if nothing had been said
  const other = useAnswer(whole, query.compare === "before" ? query.model : query.compare, !!query.compare, alone);
  const [unfolded, unfold] = useCopies();
  const [filtering, setFiltering] = useState(false);
  const change = (next, options) => go("/results", toParams(next), options);

  const ranked = marks.shown(main.answer?.results || []);
  const list = inOrder(holding ? before.answer.results : ranked, query.order).slice(0, query.k).flatMap((r) => [r, ...(unfolded.get(r.item) || [])]);
  const rest = useRest(list);
  const placeOf = ({ item }) => (main.answer?.results || []).findIndex((r) => r.item === item) + 1;
  const can = canJudge(query);
  const Board = useModule(BOARD, query.view === "board")?.BoardView;
  const Sorted = useModule(SORTED, query.view === "sorted")?.Sorted;
  const View = query.view === "sorted" ? Sorted : Grid;

  const judge = (items, relevant, event) => {
    if (rest(event, items[0].item)) return;
    selectNone();
    if (items.every((r) => markOf(r) === (relevant ? "right" : "wrong"))) { marks.release(items); return; }
    say(said(items.length, relevant), { action: "Undo", run: undo });
    marks.mark(items, relevant, items.map(placeOf));
  };
  const undo = async () => {
    const taken = await undoLast().catch(complain);
    if (taken) { say("Taken back."); marks.forget(taken.items); }
  };
  const note = (r) => { if (can) click(asked(query), r.item, placeOf(r)); };
  const more = (r) => { note(r); go("/results", toParams({ ...likeItem(r.item), model: query.model })); };
  const open = (r) => { note(r); view(r); };
  const add = (items, weight) => {
    selectNone();
    change(items.reduce((next, item) => withExample(next, { item, weight }), query));
  };
  useKeys([{ ...KEY.undo, run: undo }]);
  useShelf({ items: list, judge: can && ((r, relevant) => judge([r], relevant)), query, model: query.model });

  if (isEmpty(query)) {
    return html`<section><div class="empty"><h1>Nothing asked yet</h1><p>Type words above, drop a photo anywhere, or begin
      with one of <${Link} to="/">your photos<//>.</p></div></section>`;
  }
  const acts = { judge: can ? judge : null, more, open, copies: unfold };
  const places = new Map(list.map((r, place) => [r.item, place]));
  const all = main.answer?.results.length || 0;
  return html`<section class="results" aria-busy=${main.loading || marks.onTheirWay}>
    <h1 class="sr-only">Results</h1>
    <div class="strip">
      <${Feedback} feedback=${marks.feedback} release=${marks.release} clear=${() => marks.release(marks.feedback)}
        changed=${before.answer && !main.loading && news(ranked, before.answer.results)} hold=${setHeld} />
      <${Offers} query=${query} offers=${main.answer?.offers} change=${change} refresh=${main.refresh} />
      <span class="gap"></span>
      <span class="soft" role="status">${!main.answer ? (main.loading ? "Searching …" : "") : asksFor(whole, all)}</span>
      <button class="pill" onClick=${() => setFiltering(true)}>Filters${filtersOf(query) > 0 ? ` · ${filtersOf(query)}` : ""}</button>
      <button class="pill" aria-pressed=${query.details ? "true" : "false"} onClick=${() => change({ ...query, details: !query.details }, { replace: true })}>Details</button>
    </div>
    <${Filters} open=${filtering} close=${() => setFiltering(false)} query=${query} change=${change} results=${main.answer?.results || []} />
    <${Chosen} query=${query} change=${change} />
    <${Near} text=${query.text} />
    ${[main.answer?.degraded, ...(main.answer?.notes || [])].filter(Boolean).map((line) => html`<p key=${line} class="note">${line}</p>`)}
    ${main.error && html`<p class="error" role="alert">${main.error.message}</p>`}
    <div class=${query.compare ? "side-by-side" : ""}>
      <div>
        ${query.compare && html`<h2>This search</h2>`}
        ${query.details && html`<${Rests} answer=${main.answer} />`}
        ${main.answer && !list.length && html`<${Nothing} query=${query} />`}
        ${query.view === "board"
          ? Board && html`<${Board} query=${query} results=${ranked} open=${open} />`
          : View && html`<${View} key=${main.answer?.name} results=${list} acts=${acts} label="Results" details=${query.details} moment=${`${marks.moment}${holding}`} />`}
      </div>
      ${query.compare && html`<div>
        ${other.error && html`<p class="error" role="alert">${other.error.message}</p>`}
        <h2>${{ before: "Before your feedback", plain: "Without anything learned" }[query.compare] || "The other one"}</h2>
        ${query.details && html`<${Rests} answer=${other.answer} />`}
        <${Grid} results=${other.answer?.results || []} acts=${acts} label="Results of the other one"
          compareWith=${places} keyed=${false} details=${query.details} /></div>`}
    </div>
    ${query.view !== "board" && all >= query.k && query.k < MOST && html`<${More} busy=${main.loading}
      more=${() => change({ ...query, k: Math.min(MOST, query.k + STEP) }, { replace: true })} />`}
    ${query.view !== "board" && html`<${SelectionBar} results=${list} judge=${can ? judge : null} add=${add} open=${open} />`}
  </section>`;
}

// What was said here and the server has not answered to yet stands over what its answer says.
function useMarks(query, main) {
  const pending = useRef(new Map()); // item -> { value, arrived }
  const [, redraw] = useState(0);
  const bump = () => redraw((n) => n + 1);
  const name = JSON.stringify(asked(query));
  useLayoutEffect(() => { pending.current.clear(); }, [name]);
  useLayoutEffect(() => {
    for (const [item, { arrived }] of pending.current) if (arrived) pending.current.delete(item);
    bump();
  }, [main.answer]);
  const put = async (items, value, work) => {
    const entry = { value, arrived: false };
    for (const { item } of items) pending.current.set(item, entry);
    bump();
    try { await work(); } catch { /* told already */ }
    entry.arrived = true;
    main.refresh();
  };
  const records = (item) => main.answer?.feedback.find((f) => f.item === item)?.records || [];
  const valueOf = (r) => (pending.current.has(r.item) ? pending.current.get(r.item).value : r.mark);
  const told = (main.answer?.feedback || []).filter((f) => !pending.current.has(f.item));
  const own = [...pending.current].filter(([, { value }]) => value !== null).map(([item, { value }]) => ({ ...known.get(item), item, value, records: [] }));
  const feedback = [...told, ...own];
  return {
    feedback,
    onTheirWay: pending.current.size > 0, // the list is not made of them yet
    // Changes with the list: when an answer knows more or less than the one before, or something leaves at once.
    moment: [...(main.answer?.feedback || []).map((f) => `${f.item}:${f.value}`), "now", ...own.filter((f) => !f.value).map((f) => f.item)].join(),
    // What is wrong leaves the list, whatever was asked and whatever ranks.
    shown: (results) => results.map((r) => ({ ...r, mark: valueOf(r) })).filter((r) => markOf(r) !== "wrong"),
    mark: (items, relevant, positions) => put(items, relevant ? 1 : 0, () => send(asked(query), items.map((r) => r.item), relevant, positions)),
    release: (items) => put(items, null, () => Promise.all(items.map(({ item }) => takeBack(asked(query), item, records(item))))),
    forget: (items) => put(items.map((item) => ({ item })), null, () => {}),
  };
}

// A list that moves under the pointer must not make a quick second click judge another photo.
function useRest(list) {
  const last = useRef({ at: -REST, x: 0, y: 0, item: 0 });
  const moved = useRef(-REST);
  const order = list.map((r) => r.item).join();
  useLayoutEffect(() => { moved.current = performance.now(); }, [order]);
  return (event, item) => {
    if (!event?.detail) return false; // by a key
    const { at, x, y, item: before } = last.current;
    const now = performance.now();
    const near = Math.hypot(event.clientX - x, event.clientY - y) < SPOT;
    if (near && (now - at < REST || (item !== before && now - moved.current < REST))) return true;
    last.current = { at: now, x: event.clientX, y: event.clientY, item };
    return false;
  };
}

// Copies that were folded into a result, shown behind it for whoever asks.
function useCopies() {
  const [found, setFound] = useState(new Map());
  const toggle = async (r) => {
    if (found.has(r.item)) { setFound(new Map([...found].filter(([item]) => item !== r.item))); return; }
    try {
      const page = await call("/items/list", { body: { items: r.copies } });
      setFound(new Map([...found, [r.item, page.items]]));
    } catch (error) { complain(error); }
  };
  return [found, toggle];
}

const ORDERS = {
  newest: (a, b) => (b.taken || "").localeCompare(a.taken || ""),
  oldest: (a, b) => (a.taken || "9").localeCompare(b.taken || "9"),
  name: (a, b) => a.name.localeCompare(b.name),
};
const inOrder = (results, order) => (ORDERS[order] ? [...results].sort(ORDERS[order]) : results);

function asksFor(query, all) {
  const by = query.examples.length && query.text ? "by photo and words · " : "";
  return `${by}${all < query.k ? plural(all, "photo") : query.order ? `the best ${count(all)}` : `the first ${count(all)}`}`;
}

// Endless: more come when the end comes near; the button is for those who come by keys.
function More({ more, busy }) {
  const self = useRef(null);
  useEffect(() => {
    if (busy) return undefined;
    const watching = new IntersectionObserver(([end]) => { if (end.isIntersecting) more(); }, { rootMargin: "500px" });
    watching.observe(self.current);
    return () => watching.disconnect();
  }, [busy]);
  return html`<p class="centre" ref=${self}><button onClick=${more}>More results</button></p>`;
}

// What ranks the answer, for those who want to know.
function Rests({ answer }) {
  if (!answer) return null;
  const parts = [
    plural(answer.results.length, "result"),
    `model ${answer.model}`,
    answer.reader && `words read by ${answer.reader}`,
    `index ${answer.generation}`,
    answer.marks > 0 && `shaped by ${plural(answer.marks, "mark")} on this query`,
    `${Math.max(1, Math.round(1000 * answer.seconds))} ms`,
  ].filter(Boolean);
  return html`<p class="rests" data-details>${parts.join(" · ")}</p>`;
}

// The filters at work, each of which a click takes away.
function Chosen({ query, change }) {
  const without = (tag) => ({ ...query, tags: query.tags.filter((t) => t !== tag) });
  const chips = [
    ...query.tags.map((tag) => [`tag: ${tag}`, without(tag)]),
    query.folder && [`in ${query.folder}`, { ...query, folder: "" }],
    query.since && [`from ${query.since}`, { ...query, since: "" }],
    query.until && [`until ${query.until}`, { ...query, until: "" }],
    query.kind && [query.kind, { ...query, kind: "" }],
    query.same && ["same object", { ...query, same: false }],
    query.compare && ["compared", { ...query, compare: "" }],
  ].filter(Boolean);
  if (!chips.length) return null;
  return html`<p class="chips">${chips.map(([words, next]) => html`<button key=${words} class="pill" title="Take this away"
    onClick=${() => change(next)}>${words} ×</button>`)}</p>`;
}

function Nothing({ query }) {
  return html`<div class="empty"><h2>Nothing found</h2>
    <p>${filtersOf(query)
      ? "Take a filter away, or use other words."
      : "Use fewer or other words, or search by a photo: drop one anywhere on this page."}</p></div>`;
}

// What else was asked, or is a tag, for alike photos.
function Near({ text }) {
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
