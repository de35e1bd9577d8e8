// A board (or its list) and what lies beside it, with one set of keys and acts for both.
import { html, useEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { after, distance, nth, nudged, order, standing, towards } from "/static/lib/board.js";
import { plural } from "/static/lib/format.js";
import { KEY, arrows, useKeys } from "/static/lib/keys.js";
import { pick, selectAll, selectNone, selected } from "/static/lib/selection.js";
import { Board } from "/static/parts/board.js";
import { BoardList } from "/static/parts/board-list.js";
import { AtHand, Favours, Meaning } from "/static/parts/board-side.js";
import { useThumbnail } from "/static/parts/thumbnail.js";

const NARROW = matchMedia("(max-width: 640px)");

export function useNarrow() {
  const [narrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const look = () => setNarrow(NARROW.matches);
    NARROW.addEventListener("change", look);
    return () => NARROW.removeEventListener("change", look);
  }, []);
  return narrow;
}

const gap = (a, b) => Math.hypot(a.place[0] - b.place[0], a.place[1] - b.place[1]);

// act(step) does something to the board; open(piece) shows it large; children: further buttons.
export function Arena({ board, act, open, canEnd = true, asList, children }) {
  const { draft } = board;
  const pieces = standing(board, draft);
  const self = useRef(null);
  const [wanted, setAt] = useState(null);
  const [spoken, setSpoken] = useState("");
  // A picture that leaves the board hands the keyboard to the nearest one that is left.
  const spot = useRef(null);
  const left = spot.current?.round === board.round ? [...pieces].filter((p) => !p.centre).sort((a, b) => gap(a, spot.current) - gap(b, spot.current)) : [];
  const at = pieces.some((p) => p.item === wanted) ? wanted : (left[0] || pieces[0])?.item;
  const piece = pieces.find((p) => p.item === at);
  if (piece?.item === wanted) spot.current = { place: piece.place, round: board.round };
  const centred = board.has_centre || draft.query !== null;
  const list = useNarrow() || asList;

  const names = (ps) => (ps.length === 1 ? ps[0].name : plural(ps.length, "photo"));
  const tell = (step, ps, what) => { setSpoken(`${names(ps)}: ${what}.`); return act(step); };
  const place = (ps, way) => {
    const places = {};
    let so = draft;
    // The one that must not be overtaken goes first.
    const sorted = [...ps].sort((a, b) => way * (distance(b.place) - distance(a.place)));
    for (const p of sorted) {
      places[p.item] = nudged(p, way, so);
      so = after(so, { kind: "move", places: { [p.item]: places[p.item] } });
    }
    const ranks = order(so);
    tell({ kind: "move", places }, ps, ps.length === 1 ? `${nth(ranks.indexOf(ps[0].item) + 1)} nearest of ${ranks.length} moved` : way < 0 ? "closer" : "farther");
  };
  const items = (ps) => ps.map((p) => p.item);
  const simple = (kind, what) => (ps) => { selectNone(); tell({ kind, items: items(ps) }, ps, what); };
  const acts = {
    closer: centred ? (ps) => place(ps, -1) : null,
    farther: centred ? (ps) => place(ps, 1) : null,
    query: (ps) => { selectNone(); tell({ kind: "query", items: [ps[0].item] }, [ps[0]], "what you search from now"); },
    close: simple("close", "close to what you look for too"),
    pin: simple("pin", "pinned"),
    unpin: simple("unpin", "not pinned any more"),
    discard: centred ? simple("discard", "discarded") : null,
    aside: simple("aside", "set aside"),
    restore: simple("restore", "put back"),
    found: canEnd ? (ps) => act({ kind: "found", items: [ps[0].item] }) : null,
    open: (ps) => open(ps[0]),
  };
  const targets = (one) =>
    selected.value.has(one.item) ? pieces.filter((p) => !p.centre && selected.value.has(p.item)) : [one];

  const focus = (item) => { setAt(item); self.current.querySelector(`[data-item="${item}"]`)?.focus(); };
  const inside = () => self.current?.contains(document.activeElement) && document.activeElement.dataset.item;
  const step = (direction) => () => {
    if (!piece) return;
    if (!inside()) { focus(at); return; }
    if (!list) { focus(towards(pieces, piece, direction).item); return; }
    const listed = [...pieces].sort((a, b) => distance(a.place) - distance(b.place) || a.item - b.item).map((p) => p.item);
    const next = listed.indexOf(at) + (direction[0] + direction[1] > 0 ? 1 : -1);
    focus(listed[Math.max(0, Math.min(listed.length - 1, next))]);
  };
  const movable = piece && !piece.centre;
  const key = (keys, shown, says, name, off) => ({ keys, shown, says, off: off || !acts[name], run: () => acts[name](targets(piece)) });
  const pinned = piece && draft.pinned.includes(piece.item);
  useKeys([
    ...arrows({ right: step([1, 0]), left: step([-1, 0]), down: step([0, 1]), up: step([0, -1]) }),
    key(["c", "+"], "C", "closer to what you look for", "closer", !movable),
    key(["f", "-"], "F", "farther from what you look for", "farther", !movable),
    key(["q"], "Q", "search from this photo", "query", !movable),
    key(["t"], "T", "close to it too: the next closest", "close", !movable),
    key(["p"], "P", "pin the photo, or not", pinned ? "unpin" : "pin", !movable),
    key(["d"], "D", "discard: farther than all that were moved", "discard", !movable),
    key(["n"], "N", "wrong: out of the way, and it says nothing", "aside", !movable),
    key(["z"], "Z", "put the photo back", "restore", !movable),
    key(["i"], "I", "this is it: found", "found", !piece),
    key(KEY.open.keys, KEY.open.shown, KEY.open.says, "open", !piece),
    { ...KEY.select, off: !movable, run: () => pick(at, [], { ctrl: true }) },
    { ...KEY.all, run: () => selectAll(items(pieces.filter((p) => !p.centre))) },
    { ...KEY.none, run: selectNone },
  ]);
  const label = `Board: ${plural(pieces.length, "photo")}${centred ? ", the nearest in the middle" : ""}`;
  const shared = { pieces, draft, at, setAt, label };
  const own = !board.query && board.has_centre && draft.query === null;
  return html`<div class=${`arena ${list ? "listed" : ""}`} ref=${self}>
    <div class="arena-main">
      ${own && list && html`<${Own} origin=${board.origin} />`}
      ${list
        ? html`<${BoardList} ...${shared} acts=${acts} />`
        : html`<div class="board-frame">
          <${Board} ...${shared} side=${board.side} open=${open}
            move=${centred ? (places) => { setSpoken(""); act({ kind: "move", places }); } : null} />
          ${own && html`<${Own} origin=${board.origin} side=${board.side} />`}</div>`}
    </div>
    <div class="arena-side">
      ${children}
      ${!list && html`<${AtHand} piece=${piece} draft=${draft} acts=${acts} targets=${targets} />`}
      <${Meaning} board=${board} draft=${draft} pieces=${pieces} restore=${acts.restore} />
      <${Favours} shares=${board.shares} words=${board.words} />
    </div>
    <p class="sr-only" role="status">${spoken}</p>
  </div>`;
}

// What is searched with, where it is no photo of the board: one that was brought, a part, or up to three.
function Own({ origin, side }) {
  const wanted = (origin.examples || []).filter((e) => (e.weight ?? 1) > 0).slice(0, 3);
  return wanted.map((e, at) => html`<${OwnPicture} key=${at} e=${e} side=${side} shift=${at - (wanted.length - 1) / 2} />`);
}

function OwnPicture({ e, side, shift }) {
  const src = useThumbnail(e);
  if (!src) return null;
  const style = side ? { width: `${112 * side}%`, left: `${50 + 60 * shift * side}%`, top: "50%" } : null;
  return html`<img class=${side ? "piece query own" : "own-row"} style=${style} src=${src} alt="the photo you search with" />`;
}
