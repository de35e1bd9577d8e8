// Results sorted by the eye: small pictures in a grid, the similar beside each other.  Selecting,
// marking and viewing are those of the ranked grid.
import { html, useEffect, useLayoutEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { ask } from "/static/lib/api.js";
import { useKeys } from "/static/lib/keys.js";
import { useBand } from "/static/lib/band.js";
import { markOf } from "/static/lib/query.js";
import { selected } from "/static/lib/selection.js";
import { pictureKeys, pressing } from "/static/parts/grid.js";

const TILE = 76; // pixels that a picture takes, with the gap
const NARROW = 56;

export function Sorted({ results, acts, label }) {
  const list = useRef(null);
  const columns = useColumns(list);
  const rows = useRows(results, columns);
  const chosen = useSignal(selected);
  const [at, setAt] = useState(null);
  const wanted = useRef(false);
  const facts = new Map(results.map((r) => [r.item, r]));
  const cells = rows.flatMap((row, y) => row.map((item, x) => ({ item, x, y }))).filter((c) => facts.has(c.item));
  const order = cells.map((c) => c.item);
  const band = useBand(list, order);
  const here = cells.find((c) => c.item === at) || cells[0];
  useLayoutEffect(() => {
    if (!wanted.current) return;
    wanted.current = false;
    list.current?.querySelector('[tabindex="0"]')?.focus();
  });

  // The next picture in a direction; empty cells are stepped over.
  const move = (dx, dy) => {
    if (!here) return;
    wanted.current = true;
    const inside = list.current?.contains(document.activeElement);
    const ahead = cells.filter((c) => (dx ? c.y === here.y && (c.x - here.x) * dx > 0 : c.x === here.x && (c.y - here.y) * dy > 0));
    ahead.sort((a, b) => Math.abs(a.x - here.x) + Math.abs(a.y - here.y) - Math.abs(b.x - here.x) - Math.abs(b.y - here.y));
    setAt((inside && ahead[0] ? ahead[0] : here).item);
  };
  useKeys(pictureKeys({
    off: !here, now: here && facts.get(here.item), results, order, acts,
    right: () => move(1, 0), left: () => move(-1, 0), down: () => move(0, 1), up: () => move(0, -1),
  }));

  return html`<ul class="sorted" ref=${list} aria-label=${label} onPointerDown=${band.down} style=${{ gridTemplateColumns: `repeat(${columns}, 1fr)` }}>
    ${cells.map(({ item, x, y }, place) => {
      const r = facts.get(item);
      const marked = markOf(r);
      return html`<li key=${item} class=${`tile ${chosen.has(item) ? "picked" : ""} ${marked}`} style=${{ gridColumn: x + 1, gridRow: y + 1 }}>
        <button class="picture" tabindex=${item === here.item ? 0 : -1} aria-pressed=${chosen.has(item) ? "true" : "false"}
          onFocus=${() => setAt(item)} title=${r.name} ...${pressing({ r, order, open: acts.open })}
          aria-label=${`${place + 1}: ${r.name}${marked && `, marked ${marked}`}`}>
          ${r.thumbnail && html`<img src=${r.thumbnail} alt="" loading="lazy" decoding="async" draggable=${false} />`}</button></li>`;
    })}
  </ul>${band.box && html`<div class="band" style=${band.box}></div>`}`;
}

// As many columns as fit, asked again when the window changes.
function useColumns(list) {
  const [columns, setColumns] = useState(0);
  useEffect(() => {
    const look = () => {
      const { width } = list.current.getBoundingClientRect();
      setColumns(Math.max(3, Math.min(200, Math.floor(width / (width < 640 ? NARROW : TILE)))));
    };
    const watching = new ResizeObserver(look);
    watching.observe(list.current);
    look();
    return () => watching.disconnect();
  }, []);
  return columns;
}

// Rows from the server; until they are there, in the order of the ranking.
function useRows(results, columns) {
  const [found, setFound] = useState({ name: "", rows: [] });
  const items = results.map((r) => r.item);
  const name = `${columns}:${[...items].sort((a, b) => a - b).join()}`;
  useEffect(() => {
    if (!columns || !items.length) return undefined;
    return ask("/layouts/sorted", (answer) => setFound({ name, rows: answer.rows }),
      () => setFound({ name, rows: chunks(items, columns) }), { body: { items, columns } });
  }, [name]);
  return found.rows;
}

function chunks(items, columns) {
  const rows = [];
  for (let start = 0; start < items.length; start += columns) rows.push(items.slice(start, start + columns));
  return rows;
}
