// Pictures to begin from: which is closest to the one you look for?
import { html, useRef } from "/static/vendor/preact-htm.js";
import { useKeys } from "/static/lib/keys.js";

export function Gallery({ pictures, choose, found, busy, label }) {
  const list = useRef(null);
  const move = (step) => {
    const all = [...list.current.querySelectorAll(".picture")];
    const now = all.indexOf(document.activeElement);
    const rows = all.findIndex((one) => one.offsetParent.offsetTop > all[0].offsetParent.offsetTop);
    const jump = Math.abs(step) === 2 ? (step / 2) * (rows < 0 ? all.length : rows) : step;
    all[now < 0 ? 0 : Math.max(0, Math.min(all.length - 1, now + jump))]?.focus();
  };
  useKeys([
    { keys: ["ArrowRight"], shown: "arrows", says: "to another picture", run: () => move(1) },
    { keys: ["ArrowLeft"], run: () => move(-1) },
    { keys: ["ArrowDown"], run: () => move(2) },
    { keys: ["ArrowUp"], run: () => move(-2) },
  ]);
  return html`<ul class=${`grid gallery ${pictures.length > 60 ? "many" : ""}`} ref=${list} aria-label=${label}>${pictures.map((p) => html`
    <li class="card" key=${p.item}><div class="shown">
      <button class="picture" disabled=${busy} title=${`${p.name}: closest to what I look for`} aria-label=${`Closest: ${p.name}`} onClick=${() => choose(p)}>
        ${p.thumbnail ? html`<img src=${p.thumbnail} alt="" loading="lazy" decoding="async" />` : html`<span class="nothing">…</span>`}</button>
      <button class="quiet star" disabled=${busy} title="This is it" aria-label=${`Found it: ${p.name}`} onClick=${() => found(p)}>★</button>
    </div></li>`)}</ul>`;
}
