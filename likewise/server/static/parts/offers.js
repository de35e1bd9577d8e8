// Earlier feedback near this search: a dashed chip each, one click uses it, one takes it off, × says it does not fit.
import { html, useState } from "/static/vendor/preact-htm.js";
import { deliver, person } from "/static/lib/outbox.js";
import { asked, canJudge } from "/static/lib/query.js";
import { complain, say } from "/static/lib/toasts.js";
import { useThumbnail } from "/static/parts/thumbnail.js";

export function Offers({ query, offers, change, refresh }) {
  const [gone, setGone] = useState([]); // dismissed here, until the next answer knows it too
  const use = query.use || [];
  const here = asked(query);
  const tell = (offer, taken) => canJudge(query) && deliver("/offers",
    { query: here, offer: offer.name, taken, likeness: offer.likeness, person: person.value });
  const put = (names) => change({ ...query, use: names }, { replace: true });
  const take = (offer) => { tell(offer, true)?.catch(complain); put([...use, offer.name]); };
  const off = (offer) => { tell(offer, null)?.catch(complain); put(use.filter((name) => name !== offer.name)); };
  const key = (offer) => JSON.stringify([here, offer.name]);
  const refuse = (offer) => {
    setGone([...gone, key(offer)]);
    const back = () => {
      setGone(gone.filter((one) => one !== key(offer)));
      tell(offer, null)?.then(refresh).catch(complain);
    };
    tell(offer, false)?.then(refresh).catch(complain);
    say("Not offered here again.", { action: "Undo", run: back });
  };
  const shown = (offers || []).filter((offer) => use.includes(offer.name) || (!offer.used && !gone.includes(key(offer))));
  if (!shown.length) return null;
  return html`<ul class="offers" aria-label="Your earlier feedback">${shown.map((offer) => html`
    <${Chip} key=${offer.name} offer=${offer} used=${use.includes(offer.name)}
      take=${() => take(offer)} off=${() => off(offer)} refuse=${() => refuse(offer)} />`)}</ul>`;
}

function Chip({ offer, used, take, off, refuse }) {
  const src = offer.text ? null : useThumbnail({ item: offer.item, upload: offer.upload });
  const on = offer.text ? `“${offer.text}”` : offer.kind === "session" ? "a photo you found" : "this photo";
  const marks = `${offer.right} ✓${offer.wrong ? ` ${offer.wrong} ✗` : ""}`;
  const says = `${used ? "Using" : "Use"} your feedback on ${on}: `;
  return html`<li class=${used ? "offer used" : "offer"}>
    <button aria-pressed=${used ? "true" : "false"} onClick=${used ? off : take}
      title=${used ? "One click takes it off" : "One click uses it for this search"}>
      ${src && html`<img src=${src} alt="" />`}${says}<b>${marks}</b></button>
    ${!used && html`<button class="refuse" onClick=${refuse} title="It does not fit" aria-label=${`Dismiss: feedback on ${on} does not fit`}>×</button>`}
  </li>`;
}
