// Beside the board: the picture at hand and what can be done with it, the order that the moves
// mean, what is off the board, and what the metric favours.
import { html } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { nth, offBoard, order } from "/static/lib/board.js";
import { plural } from "/static/lib/format.js";
import { lookName, shares as inWords } from "/static/lib/words.js";
import { selected } from "/static/lib/selection.js";

export function AtHand({ piece, draft, acts, targets }) {
  const chosen = useSignal(selected);
  if (!piece) return html`<div class="at-hand-panel soft">Choose a photo: point at it, or move to it with the arrows.</div>`;
  const many = targets(piece).length;
  const rank = order(draft).indexOf(piece.item) + 1;
  const close = draft.close.includes(piece.item) && draft.close.indexOf(piece.item) + 2;
  const pinned = draft.pinned.includes(piece.item);
  const button = (name, text, key, kind = "") => acts[name] && html`<button class=${kind} onClick=${() => acts[name](targets(piece))}>${text} <kbd>${key}</kbd></button>`;
  return html`<div class="at-hand-panel" role="group" aria-label="The photo at hand">
    ${piece.thumbnail && html`<img src=${piece.thumbnail} alt="" />`}
    <p><b>${many > 1 && chosen.has(piece.item) ? `${plural(many, "photo")} selected` : piece.name}</b><br />
      <span class="soft">${piece.centre ? "What you search from" : close ? `${nth(close)} closest to what you look for` : rank ? `${nth(rank)} nearest of ${plural(Object.keys(draft.moved).length, "moved photo")}` : "Not moved: it says nothing yet"}</span></p>
    <div class="buttons">
      ${!piece.centre && html`${button("query", "Search from this", "Q")}${button("close", "Close too", "T")}
        ${button("closer", "Closer", "C")}${button("farther", "Farther", "F")}
        ${pinned ? button("unpin", "Unpin", "P") : button("pin", "Pin", "P")}
        ${button("discard", "Discard", "D")}${button("aside", "Not this", "N")}
        ${(rank > 0 || close) && button("restore", "Put back", "Z")}`}
      ${button("open", "Open", "V")}${button("found", "This is it", "I", "yes")}
    </div></div>`;
}

export function Meaning({ board, draft, pieces, restore }) {
  const ranks = order(draft);
  const named = new Map(pieces.map((p) => [p.item, p]));
  const off = offBoard(board, draft);
  const small = (p, says) => html`<li key=${p.item}><button title=${`Put back: ${p.name}`} aria-label=${`Put ${p.name} back, ${says}`}
    onClick=${() => restore([p])}>${p.thumbnail && html`<img src=${p.thumbnail} alt="" />`}</button></li>`;
  if (!ranks.length && !draft.close.length && !off.discarded.length && !off.aside.length) return null;
  return html`<section class="meaning" aria-label="What your moves say">
    ${draft.close.length > 0 && html`<h3>Close to it too</h3>
      <ol class="small-pictures">${draft.close.filter((i) => named.has(i)).map((i, n) => small(named.get(i), `${nth(n + 2)} closest`))}</ol>`}
    ${ranks.length > 0 && html`<h3>Nearest to farthest</h3>
      <ol class="small-pictures">${ranks.filter((i) => named.has(i)).map((i, n) => small(named.get(i), `${nth(n + 1)} nearest`))}</ol>`}
    ${off.discarded.length > 0 && html`<h3>Discarded: farther than these</h3><ul class="small-pictures">${off.discarded.map((p) => small(p, "discarded"))}</ul>`}
    ${off.aside.length > 0 && html`<h3>Not this</h3><ul class="small-pictures">${off.aside.map((p) => small(p, "set aside"))}</ul>`}
  </section>`;
}

export function Favours({ shares, words }) {
  // The words hold whole percents that sum to a hundred; the bar is exact.
  const whole = new Map(words.split(", ").map((part) => part.split(/ (?=\d+ %$)/)));
  const blocks = Object.entries(shares).filter(([name]) => whole.has(name));
  return html`<section class="favours" aria-label="What counts now">
    <h3>What counts now</h3>
    <div class="favours-bar" role="img" aria-label=${inWords(words)}>${blocks.map(([name, share], n) => html`
      <span key=${name} class=${`block b${n % 6}`} style=${{ width: `${100 * share}%` }} title=${`${lookName(name)} ${whole.get(name)}`}></span>`)}</div>
    <ul class="favours-names">${blocks.map(([name], n) => html`<li key=${name}><span class=${`dot b${n % 6}`}></span>${lookName(name)} <b class="number">${whole.get(name)}</b></li>`)}</ul>
  </section>`;
}
