// The board as a view of results: look at them, and begin a target search by doing something.
import { html, useEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { ask } from "/static/lib/api.js";
import { asked } from "/static/lib/query.js";
import { staying } from "/static/lib/router.js";
import { begin, note, show } from "/static/lib/target.js";
import { complain } from "/static/lib/toasts.js";
import { Arena } from "/static/parts/board-arena.js";

const MOST = 40;

export function BoardView({ query, results, open }) {
  const [board, setBoard] = useState(null);
  const beginning = useRef(null);
  const own = query.examples.filter((e) => e.weight > 0 && !e.crop).map((e) => e.item);
  const first = results.map((r) => r.item).filter((i) => !(own.length === 1 && own.includes(i))).slice(0, MOST);
  const wish = { query: asked(query), first };
  const name = JSON.stringify(wish);
  useEffect(() => {
    if (!first.length) return undefined;
    return ask("/boards", (found) => setBoard({ ...found, origin: { examples: query.examples } }), complain, { body: wish });
  }, [name]);
  if (!board || !first.length) return html`<p class="soft">Laying out the board …</p>`;
  // The first thing done begins a search with this very board; it goes on from there, and takes what is done meanwhile.
  const act = async (step) => {
    const still = staying();
    try {
      const begun = await (beginning.current ||= begin(wish));
      await note(begun, step);
      if (still()) show(begun.session, begun.round);
    } catch (error) { beginning.current = null; complain(error); }
  };
  return html`<${Arena} board=${board} act=${act} open=${open} canEnd=${false}>
    <p class="soft">${board.has_centre
      ? "Drag photos closer or farther: that begins a search for the one you have in mind, from here."
      : "Press Q on the photo that is closest to what you want: that begins a search from here."}</p><//>`;
}
