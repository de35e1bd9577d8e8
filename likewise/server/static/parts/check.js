// A short check of what was learned: of these photos, which are right?  It can be left at any
// time and goes on where it was.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { ask, call, newKey } from "/static/lib/api.js";
import { plural } from "/static/lib/format.js";
import { ticks } from "/static/lib/news.js";
import { person } from "/static/lib/outbox.js";
import { useSignal } from "/static/lib/signal.js";
import { complain } from "/static/lib/toasts.js";

const SITTING = 5 * 60 * 1000; // milliseconds after which it pauses by itself

export function Check({ model }) {
  const [state, setState] = useState(null);
  const [began, setBegan] = useState(0); // when this sitting began; 0 while paused
  const [over, setOver] = useState(false);
  const [right, setRight] = useState([]);
  const [busy, setBusy] = useState(false);
  const changed = useSignal(ticks.model);
  useEffect(() => ask(`/models/${model}/check`, setState), [model, changed]);
  if (!state) return null;
  const answer = async (skip) => {
    setBusy(true);
    try {
      const body = { item: state.item.item, right: skip ? [] : right, skip, person: person.value };
      setState(await call(`/models/${model}/check`, { body, key: newKey() }));
      setRight([]);
      if (Date.now() - began > SITTING) { setBegan(0); setOver(true); }
    } catch (error) { complain(error); }
    setBusy(false);
  };
  const begin = () => { setBegan(Date.now()); setOver(false); };
  const toggle = (item) => setRight(right.includes(item) ? right.filter((i) => i !== item) : [...right, item]);
  if (!state.item) return html`<p class="check soft" role="status">${state.sentence}</p>`;
  const far = `${state.done} of ${plural(state.size, "search", "searches")}`;
  if (!began) {
    return html`<div class="check">
      ${over && html`<p role="status">Five minutes are over: thank you. Go on whenever you like; nothing is lost.</p>`}
      <p class="buttons"><button class="main" onClick=${begin}>${state.done ? "Go on with the short check" : "Begin a short check"}</button>
        <span class="soft">${state.done ? `${far} checked.` : "Five minutes at most: of these photos, which are right?"}</span></p></div>`;
  }
  return html`<form class="check" aria-label="A short check" onKeyDown=${(event) => event.stopPropagation()}
      onSubmit=${(event) => { event.preventDefault(); answer(false); }}>
    <h3>A short check: of these photos, which are right?</h3>
    <p class="number" role="status">${far}</p>
    <div class="asked"><figure><figcaption>Similar to this one</figcaption><img src=${state.item.thumbnail} alt=${state.item.name} /></figure>
      <ul class="choices" aria-label="Photos to judge">${state.items.map((one) => html`<li key=${one.item}>
        <button type="button" aria-pressed=${right.includes(one.item) ? "true" : "false"} aria-label=${one.name} onClick=${() => toggle(one.item)}>
          <img src=${one.thumbnail} alt="" /><span class="tick" aria-hidden="true">${right.includes(one.item) ? "✓" : ""}</span></button></li>`)}</ul></div>
    <p class="buttons"><button class="main" disabled=${busy}>${right.length ? `${plural(right.length, "is", "are")} right, next` : "None is right, next"}</button>
      <button type="button" disabled=${busy} onClick=${() => answer(true)}>I cannot tell</button>
      <button type="button" onClick=${() => setBegan(0)}>Pause</button></p>
  </form>`;
}
