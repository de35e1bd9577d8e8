// A part of a picture: drawn with the pointer, or set with four sliders.
import { html, useRef, useState } from "/static/vendor/preact-htm.js";

const NAMES = ["left", "top", "right", "bottom"];
const clamp = (x) => Math.min(1, Math.max(0, x));

export function usableCrop(crop) {
  return crop && crop[2] - crop[0] > 0.02 && crop[3] - crop[1] > 0.02;
}

export function CropPicture({ src, alt, crop, setCrop }) {
  const frame = useRef(null);
  const [start, setStart] = useState(null);
  const point = (event) => {
    const box = frame.current.getBoundingClientRect();
    return [clamp((event.clientX - box.left) / box.width), clamp((event.clientY - box.top) / box.height)];
  };
  const down = (event) => {
    if (event.button) return;
    event.preventDefault();
    frame.current.setPointerCapture(event.pointerId);
    setStart(point(event));
    setCrop(null);
  };
  const drag = (event) => {
    if (!start) return;
    const [x, y] = point(event);
    setCrop([Math.min(x, start[0]), Math.min(y, start[1]), Math.max(x, start[0]), Math.max(y, start[1])]);
  };
  const slide = (at) => (event) => {
    const next = [...(crop || [0, 0, 1, 1])];
    next[at] = Number(event.target.value) / 100;
    if (at < 2) next[at] = Math.min(next[at], next[at + 2] - 0.03);
    else next[at] = Math.max(next[at], next[at - 2] + 0.03);
    setCrop(next);
  };
  const shown = crop || [0, 0, 1, 1];
  const share = (x) => `${100 * x}%`;
  return html`<div class="crop">
    <div class="frame" ref=${frame} onPointerDown=${down} onPointerMove=${drag} onPointerUp=${() => setStart(null)}>
      <img src=${src} alt=${alt} draggable=${false} />
      ${crop && html`<div class="box" style=${{
        left: share(shown[0]), top: share(shown[1]), width: share(shown[2] - shown[0]), height: share(shown[3] - shown[1]),
      }}></div>`}
    </div>
    <details><summary>Draw on the picture to search for a part of it, or set the part here</summary>
      ${NAMES.map((name, at) => html`<label key=${name}>${name}
        <input type="range" min="0" max="100" value=${Math.round(100 * shown[at])} onInput=${slide(at)} /></label>`)}
    </details>
  </div>`;
}
