// Drag over photos to select them: the same on every screen that has them in rows.
import { useRef, useState } from "/static/vendor/preact-htm.js";
import { selected } from "/static/lib/selection.js";

const SLACK = 8; // pixels before a press becomes a drag

const swallow = (event) => { event.preventDefault(); event.stopPropagation(); };

// order: the items of the list's children.  Gives handlers for the list, and the rectangle while it is drawn.
export function useBand(list, order) {
  const from = useRef(null);
  const [box, setBox] = useState(null);
  const latest = useRef(order);
  latest.current = order;
  const down = (event) => {
    if (event.button || event.pointerType !== "mouse" || event.target.closest(".acts button, .badge, input")) return;
    from.current = { x: event.clientX, y: event.clientY, going: false, kept: event.ctrlKey || event.metaKey || event.shiftKey ? selected.value : new Set() };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up, { once: true });
  };
  const move = (event) => {
    const start = from.current;
    if (!start.going && Math.hypot(event.clientX - start.x, event.clientY - start.y) < SLACK) return;
    start.going = true;
    const [left, right] = [start.x, event.clientX].sort((a, b) => a - b);
    const [top, bottom] = [start.y, event.clientY].sort((a, b) => a - b);
    const inside = [...list.current.children].map((child) => child.getBoundingClientRect())
      .map((r) => r.left < right && r.right > left && r.top < bottom && r.bottom > top);
    selected.value = new Set([...start.kept, ...latest.current.filter((_, at) => inside[at])]);
    setBox({ left: `${left}px`, top: `${top}px`, width: `${right - left}px`, height: `${bottom - top}px` });
  };
  const up = () => {
    removeEventListener("pointermove", move);
    if (from.current.going) addEventListener("click", swallow, { capture: true, once: true });
    setTimeout(() => removeEventListener("click", swallow, { capture: true }), 0);
    setBox(null);
  };
  return { down, box };
}
