// A photo that fills its stage: the small one first, the large one over it when it is there; zoom with the
// wheel, two fingers, a double click or keys; drag it when it is larger than the stage, swipe it when not.
import { html, useRef, useState } from "/static/vendor/preact-htm.js";

const MOST = 8;
const SWIPE = 50; // pixels

export function Zoom({ small, src, alt, zoomed, setZoomed, swipe }) {
  const self = useRef(null);
  const fingers = useRef(new Map());
  const began = useRef(null);
  const [at, setAt] = useState([0, 0]); // of the middle, in pixels
  const [there, setThere] = useState(false);
  const place = zoomed > 1 ? at : [0, 0];

  const zoomTo = (next, x, y) => {
    const scale = Math.max(1, Math.min(MOST, next));
    const box = self.current.getBoundingClientRect();
    const [px, py] = [x - box.left - box.width / 2, y - box.top - box.height / 2];
    setAt([px - ((px - place[0]) * scale) / zoomed, py - ((py - place[1]) * scale) / zoomed]);
    setZoomed(scale);
  };
  const wheel = (event) => { event.preventDefault(); zoomTo(zoomed * Math.exp(-event.deltaY / 300), event.clientX, event.clientY); };
  const spread = () => { const [a, b] = [...fingers.current.values()]; return Math.hypot(a[0] - b[0], a[1] - b[1]); };
  const down = (event) => {
    if (event.button) return;
    event.preventDefault();
    self.current.setPointerCapture(event.pointerId);
    fingers.current.set(event.pointerId, [event.clientX, event.clientY]);
    began.current = { x: event.clientX, y: event.clientY, place, zoomed, spread: fingers.current.size === 2 ? spread() : 0 };
  };
  const move = (event) => {
    if (!fingers.current.has(event.pointerId)) return;
    fingers.current.set(event.pointerId, [event.clientX, event.clientY]);
    const from = began.current;
    if (fingers.current.size === 2 && from.spread) zoomTo((from.zoomed * spread()) / from.spread, event.clientX, event.clientY);
    else if (zoomed > 1) setAt([from.place[0] + event.clientX - from.x, from.place[1] + event.clientY - from.y]);
  };
  const up = (event) => {
    const from = began.current;
    const alone = fingers.current.delete(event.pointerId) && !fingers.current.size && !from.spread;
    const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
    if (alone && zoomed === 1 && event.pointerType !== "mouse" && Math.abs(dx) > SWIPE && Math.abs(dx) > 2 * Math.abs(dy)) swipe(dx < 0 ? 1 : -1);
  };
  const twice = (event) => (zoomed > 1 ? setZoomed(1) : zoomTo(2.5, event.clientX, event.clientY));
  return html`<div class=${`zoom ${zoomed > 1 ? "large" : ""}`} ref=${self} onWheel=${wheel} onPointerDown=${down} onPointerMove=${move}
      onPointerUp=${up} onPointerCancel=${up} onDblClick=${twice}>
    <div style=${{ transform: `translate(${place[0]}px, ${place[1]}px) scale(${zoomed})` }}>
      ${small && !there && html`<img class="small" src=${small} alt="" draggable=${false} />`}
      ${src && html`<img class="whole" src=${src} alt=${alt} draggable=${false} onLoad=${() => setThere(true)} />`}</div>
  </div>`;
}
