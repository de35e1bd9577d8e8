// Target: search for one picture with a board, round by round.
import { html, useEffect, useLayoutEffect, useRef } from "/static/vendor/preact-htm.js";
import { count, plural } from "/static/lib/format.js";
import { useKeys } from "/static/lib/keys.js";
import { Link, go } from "/static/lib/router.js";
import { selectNone } from "/static/lib/selection.js";
import { show, useRound } from "/static/lib/target.js";
import { Arena, useNarrow } from "/static/parts/board-arena.js";
import { Begin, Gallery } from "/static/parts/board-begin.js";
import { EndQuestion, Ended } from "/static/parts/board-end.js";
import { Wanted } from "/static/parts/study.js";
import { useShelf, view } from "/static/parts/viewer.js";
import { shares } from "/static/lib/words.js";

const MANY = 60; // more pictures than that are chosen from, not arranged

export function Target({ params }) {
  const session = Number(params.get("session")) || 0;
  if (!session) return html`<${Begin} />`;
  return html`<${Search} key=${session} session=${session} round=${Number(params.get("round")) || 0} asList=${params.get("list") === "1"} />`;
}

// What lies around a photo of the board: the others, and what a board does with one.
function Around({ board, act }) {
  const open = board.state === "open";
  useShelf({ items: [...(board.query ? [board.query] : []), ...board.pictures],
    more: open ? [["Search from this", (p) => act({ kind: "query", items: [p.item] })], ["This is it", (p) => act({ kind: "found", items: [p.item] })]] : [] });
  return null;
}

function Search({ session, round, asList }) {
  const search = useRound(session, round);
  const { board, busy, act, next, undo } = search;
  const narrow = useNarrow();
  useLayoutEffect(selectNone, [board?.round]);
  const open = board?.state === "open";
  useKeys([
    { keys: ["g"], shown: "G", says: "go on: the next round", off: !open || busy, run: next },
    { keys: ["u"], shown: "U", says: "undo", off: !open || busy, run: undo },
  ]);
  if (search.error) return html`<section class="target"><p class="error" role="alert">${search.error.message}</p>
    <p><${Link} to="/target">Begin another search<//></p></section>`;
  if (!board) return html`<section class="target"><p class="soft">Laying out the board …</p></section>`;

  const gallery = board.pictures.length > MANY || (!board.has_centre && board.draft.query === null && !narrow && !asList);
  const choose = async (p) => { await act({ kind: "query", items: [p.item] }); next(); };
  const found = (p) => act({ kind: "found", items: [p.item] });
  const moves = Object.keys(board.draft.moved).length + board.draft.discarded.length;
  const swap = () => go("/target", new URLSearchParams({ session, round: board.round, ...(asList ? {} : { list: 1 }) }), { replace: true });
  const buttons = html`<div class="buttons round-buttons">
    ${!gallery && html`<button class="main" disabled=${busy} onClick=${next}>Next round <kbd>G</kbd></button>`}
    <button disabled=${busy} onClick=${undo}>Undo <kbd>U</kbd></button>
    <button disabled=${busy} onClick=${search.hundred} title="None of these is anything like it">Another sample</button>
    <button disabled=${busy} onClick=${() => act({ kind: "give_up" })}>Give up</button>
    ${!narrow && !gallery && html`<button onClick=${swap}>${asList ? "As a board" : "As a list"}</button>`}
  </div>`;
  return html`<section class="target round" aria-busy=${busy}>
    <h1 class="sr-only">Find one</h1>
    <${Elsewhere} search=${search} session=${session} />
    <p class="rests" role="status"><b>Round ${board.depth + 1}</b> · ${plural(board.pictures.length, "photo")} · ${count(board.left)} not shown yet · ${shares(board.words)}
      ${notes(board, moves).map((line) => html`<br key=${line} /><span class="degraded">${line}</span>`)}</p>
    ${board.state !== "open" ? html`<${Ended} board=${board} />` : board.origin.looked_for && html`<${Wanted} />`}
    ${!(open && gallery) && html`<${Around} board=${board} act=${act} />`}
    ${open && (gallery
      ? html`<h2>Which is closest to the one you look for?</h2>${buttons}
        <${Gallery} pictures=${board.pictures} busy=${busy} choose=${choose} found=${found} label="Photos to begin from" />`
      : html`<${Arena} board=${board} act=${act} open=${(p) => view({ item: p.item })} asList=${asList}>${buttons}<//>`)}
    <${Rounds} rounds=${board.rounds} current=${board.round} goTo=${search.goTo} />
    <${EndQuestion} board=${board} busy=${busy} end=${search.end} goOn=${undo} />
  </section>`;
}

function notes(board, said) {
  const all = [...board.notes];
  if (board.gone) all.push(`${plural(board.gone, "photo")} of this board ${board.gone === 1 ? "is" : "are"} no longer in the collection.`);
  if (board.state === "open" && said === 1) all.push("One photo alone makes no order; move or discard another one.");
  return all;
}

// Another tab works on the same search: one sentence, and nothing of either is lost.
function Elsewhere({ search, session }) {
  const { board, elsewhere } = search;
  if (!elsewhere) return null;
  if (elsewhere.round === board.round) {
    return html`<p class="elsewhere" role="status">This search is open in another tab too; both show the same board.</p>`;
  }
  return html`<p class="elsewhere" role="status">This search went on in another tab; what you do here is kept with this round.
    ${" "}<button onClick=${() => show(session, elsewhere.round)}>Go to where it went on</button></p>`;
}

// The rounds so far: go back to any of them and on from there, which is a new branch.
function Rounds({ rounds, current, goTo }) {
  const strip = useRef(null);
  useEffect(() => {
    const here = strip.current?.querySelector('[aria-current="step"]')?.parentElement;
    if (here) strip.current.scrollLeft = here.offsetLeft - strip.current.clientWidth / 2;
  }, [current, rounds.length]);
  const parents = new Map(rounds.map((r) => [r.round, r.parent]));
  const trail = new Set();
  for (let at = current; at; at = parents.get(at)) trail.add(at);
  const depth = new Map(rounds.map((r) => [r.round, r.depth]));
  return html`<nav class="rounds" aria-label="Rounds"><ol ref=${strip}>${rounds.map((r, place) => {
    const branched = r.parent && rounds[place - 1]?.round !== r.parent;
    const name = `Round ${r.depth + 1}${branched ? `, from round ${depth.get(r.parent) + 1}` : ""}`;
    return html`<li key=${r.round} class=${`${trail.has(r.round) ? "trail" : ""} ${branched ? "branched" : ""}`}>
      <button aria-current=${r.round === current ? "step" : null} aria-label=${`${name}: ${plural(r.shown, "photo")}`} title=${name} onClick=${() => goTo(r.round)}>
        ${r.thumbnail ? html`<img src=${r.thumbnail} alt="" />` : html`<span class="nothing"></span>`}
        <span class="round-number">${branched ? `${depth.get(r.parent) + 1}↳` : ""}${r.depth + 1}</span></button></li>`;
  })}</ol></nav>`;
}
