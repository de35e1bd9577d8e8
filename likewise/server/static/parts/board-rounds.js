// The rounds so far: go back to any of them and on from there, which is a new branch.
import { html, useEffect, useRef } from "/static/vendor/preact-htm.js";
import { plural } from "/static/lib/format.js";

export function Rounds({ rounds, current, goTo }) {
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
