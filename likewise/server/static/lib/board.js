// A board without a screen: places in a box of side one, the order that moves mean, and the
// draft of a round.  The server folds steps by the same rules (likewise/session/draft.py); both are
// held to tests/session/board_cases.json.

const EDGE = 0.47; // half a box, less a margin: pictures stay on the board
const STEP = 0.05;
const NEAREST = 0.1;

const clamp = (x) => Math.min(0.5 + EDGE, Math.max(0.5 - EDGE, x));
export const onBoard = ([x, y]) => [clamp(x), clamp(y)];
// Not hypot: that rounds otherwise than the server, and two that are equally far would change places.
export const distance = ([x, y]) => Math.sqrt((x - 0.5) * (x - 0.5) + (y - 0.5) * (y - 0.5));

function without(draft, items, pins = true) {
  const less = (list) => list.filter((i) => !items.includes(i));
  const moved = Object.fromEntries(Object.entries(draft.moved).filter(([i]) => !items.includes(Number(i))));
  return { ...draft, moved, discarded: less(draft.discarded), aside: less(draft.aside), close: less(draft.close), pinned: pins ? less(draft.pinned) : draft.pinned };
}

export function after(draft, { kind, items: meant = [], places = {} }) {
  const items = [...new Set(meant)];
  const now = { ...draft, ending: "", target: null };
  const named = kind === "move" ? Object.keys(places).map(Number) : items;
  switch (kind) {
    case "move": return { ...without(now, named, false), moved: { ...draft.moved, ...places }, close: draft.close };
    case "discard": { const left = without(now, items); return { ...left, discarded: [...left.discarded, ...items] }; }
    case "aside": { const left = without(now, items); return { ...left, aside: [...left.aside, ...items] }; }
    case "pin": {
      const less = (list) => list.filter((i) => !items.includes(i));
      return { ...now, discarded: less(now.discarded), aside: less(now.aside), pinned: [...less(now.pinned), ...items] };
    }
    case "unpin": return { ...now, pinned: now.pinned.filter((i) => !items.includes(i)) };
    case "restore": return without(now, items, false);
    case "close": {
      const less = (list) => list.filter((i) => !items.includes(i));
      return { ...now, discarded: less(now.discarded), aside: less(now.aside), close: [...less(now.close), ...items] };
    }
    case "query": return { ...without(now, items, false), query: items[0] };
    case "found": return { ...draft, ending: "found", target: items[0] };
    case "give_up": return { ...draft, ending: "give up", target: null };
    default: return draft;
  }
}

// The moved pictures from nearest to farthest: what the next round learns from.
export const order = (draft) =>
  Object.keys(draft.moved).map(Number)
    .sort((a, b) => distance(draft.moved[a]) - distance(draft.moved[b]) || a - b);

// The pictures that stand on the board, each with its place; a newly chosen query stands at the
// centre, and the one before it where that one stood.
export function standing(board, draft) {
  const off = new Set([...draft.discarded, ...draft.aside]);
  const old = board.query;
  const chosen = draft.query !== null && draft.query !== old?.item ? board.pictures.find((p) => p.item === draft.query) : null;
  const pieces = board.pictures
    .filter((p) => p.item !== chosen?.item)
    .map((p) => ({ ...p, place: draft.moved[p.item] || [p.x, p.y], centre: false }));
  if (old && chosen) pieces.push({ ...old, place: draft.moved[old.item] || [chosen.x, chosen.y], centre: false });
  const left = pieces.filter((p) => !off.has(p.item));
  const centre = chosen || old;
  return centre ? [{ ...centre, place: [0.5, 0.5], centre: true }, ...left] : left;
}

export const offBoard = (board, draft) => {
  const all = [...board.pictures, ...(board.query ? [board.query] : [])];
  const named = (items) => items.map((i) => all.find((p) => p.item === i)).filter(Boolean);
  return { discarded: named(draft.discarded), aside: named(draft.aside) };
};

// A place in a direction at a distance; where the box ends before that, along its edge.
function reach(angle, far) {
  for (let turn = 0; turn <= 45; turn++) {
    for (const sign of [1, -1]) {
      const at = angle + (sign * turn * Math.PI) / 180;
      const [x, y] = [Math.cos(at), Math.sin(at)];
      if (EDGE / Math.max(Math.abs(x), Math.abs(y)) >= far) return [0.5 + far * x, 0.5 + far * y];
    }
  }
  return onBoard([0.5 + far * Math.cos(angle), 0.5 + far * Math.sin(angle)]);
}

// One step nearer (-1) or farther (+1): always past the next moved picture, if there is one.
export function nudged(piece, way, draft) {
  const now = distance(piece.place);
  const others = Object.entries(draft.moved).filter(([i]) => Number(i) !== piece.item).map(([, p]) => distance(p));
  const angle = now > 1e-6 ? Math.atan2(piece.place[1] - 0.5, piece.place[0] - 0.5) : -Math.PI / 2;
  if (way < 0) {
    const next = Math.max(...others.filter((d) => d <= now), -1);
    const wanted = next < 0 ? Math.max(NEAREST, now - STEP) : Math.min(now - STEP, 0.96 * next);
    return reach(angle, Math.max(0.01, Math.min(now, wanted)));
  }
  const next = Math.min(...others.filter((d) => d >= now), 9);
  return reach(angle, Math.min(0.66, next < 9 ? Math.max(now + STEP, 1.04 * next) : now + STEP));
}

export function enclosed([x, y], outline) {
  let inside = false;
  for (let i = 0, j = outline.length - 1; i < outline.length; j = i++) {
    const [xi, yi] = outline[i];
    const [xj, yj] = outline[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}

// The piece to go to with an arrow: the nearest one in that direction.
export function towards(pieces, from, [dx, dy]) {
  const ahead = pieces
    .filter((p) => p.item !== from.item)
    .map((p) => [p, p.place[0] - from.place[0], p.place[1] - from.place[1]])
    .map(([p, x, y]) => [p, x * dx + y * dy, Math.abs(x * dy) + Math.abs(y * dx)])
    .filter(([, along]) => along > 1e-9)
    .sort((a, b) => a[1] + 2 * a[2] - (b[1] + 2 * b[2]));
  return ahead.length ? ahead[0][0] : from;
}

const ENDS = ["th", "st", "nd", "rd"];
export const nth = (n) => `${n}${ENDS[n % 100 > 10 && n % 100 < 14 ? 0 : n % 10] || "th"}`;
