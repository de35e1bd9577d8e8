// One photo in the whole window: those before and after it, its facts, why it is here, marks, the file.
// Which one is open is in the address, so Back closes it and a reload opens it again.
import { html, useEffect, useLayoutEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { signal, useSignal } from "/static/lib/signal.js";
import { ask, call } from "/static/lib/api.js";
import { bytes, folderOf, plural, when } from "/static/lib/format.js";
import { KEY, arrows, useKeys } from "/static/lib/keys.js";
import { blank, isEmpty, likeItem, markOf, toParams } from "/static/lib/query.js";
import { closeLarge, go, route, showLarge } from "/static/lib/router.js";
import { complain, say } from "/static/lib/toasts.js";
import { CropPicture, usableCrop } from "/static/parts/crop.js";
import { Dialog } from "/static/parts/dialog.js";
import { known } from "/static/parts/thumbnail.js";
import { Why } from "/static/parts/why.js";
import { Zoom } from "/static/parts/zoom.js";

// What lies around the open photo: { items, judge(item, relevant), query, model, more: [[words, run(item)]] }.
export const shelf = signal(null);
export const view = ({ item, upload }) => showLarge(upload ? `u${upload}` : String(item));

// A screen says what it shows, so that arrows lead on from the photo that is open.
export function useShelf(what) {
  useLayoutEffect(() => { if (what) shelf.value = what; });
  useLayoutEffect(() => () => { shelf.value = null; }, []);
}

export function Viewer() {
  const name = useSignal(route).params.get("show") || "";
  const around = useSignal(shelf);
  const upload = /^u[0-9a-f]{64}$/.test(name) ? name.slice(1) : null;
  const item = upload ? 0 : Number(name) || 0;
  const open = !!(upload || item);
  return html`<${Dialog} open=${open} onClose=${closeLarge} label="Photo" class="viewer" modal=${false}>
    ${open && html`<${Inside} item=${item} upload=${upload} around=${around} />`}<//>`;
}

function Inside({ item, upload, around }) {
  const items = around?.items || [];
  const place = items.findIndex((one) => one.item === item);
  const last = useRef(0); // a photo that left the list hands over to the one in its place
  if (place >= 0) last.current = place;
  const facts = useFacts(item);
  const [cropping, setCropping] = useState(false);
  const [crop, setCrop] = useState(null);
  const [zoomed, setZoomed] = useState(1);
  const listed = items[place];
  const now = { ...known.get(item), ...listed, ...facts, mark: listed?.mark };
  useEffect(() => { setCropping(false); setCrop(null); setZoomed(1); }, [item, upload]);
  const step = (by) => {
    const next = place >= 0 ? place + by : last.current + Math.min(0, by);
    if (items[next]) view(items[next]);
  };
  const judge = around?.judge && item && ((relevant) => {
    around.judge(listed || now, relevant);
    if (!relevant && place >= 0) step(place + 1 < items.length ? 1 : -1); // what is wrong leaves the list
  });
  const search = (query) => go("/results", toParams(query));
  const similar = () => search({ ...likeItem(item), model: around?.query?.model });
  const example = upload ? { upload, weight: 1 } : { item, weight: 1 };
  const src = upload ? `/api/v1/uploads/${upload}` : now.picture;
  useKeys([
    ...arrows({ right: () => step(1), left: () => step(-1) }),
    { ...KEY.right, off: !judge, run: () => judge(true) },
    { ...KEY.wrong, off: !judge, run: () => judge(false) },
    { ...KEY.similar, off: !item, run: similar },
    { ...KEY.open, run: closeLarge },
    { keys: ["Escape"], run: closeLarge },
    { keys: ["+", "="], shown: "+ −", says: "zoom", run: () => setZoomed((z) => Math.min(8, 2 * z)) },
    { keys: ["-"], run: () => setZoomed((z) => Math.max(1, z / 2)) },
  ], { inDialog: true });
  const alt = now.name || "the photo you brought";
  return html`
    <div class="viewer-top">
      <span class="number">${place >= 0 ? `${place + 1} of ${items.length}` : ""}</span>
      <button onClick=${() => setZoomed((z) => (z > 1 ? 1 : 2.5))} aria-pressed=${zoomed > 1 ? "true" : "false"}>Zoom</button></div>
    <div class="stage">
      ${facts?.error ? html`<p role="alert">${facts.error}</p>`
        : cropping ? html`<${CropPicture} src=${src} alt=${alt} crop=${crop} setCrop=${setCrop} />`
          : (src || now.thumbnail) && html`<${Zoom} key=${item || upload} small=${now.thumbnail} src=${src} alt=${alt}
              ratio=${now.width / now.height} zoomed=${zoomed} setZoomed=${setZoomed} swipe=${step} />`}
      ${place > 0 && html`<button class="arrow left" aria-label="The photo before" onClick=${() => step(-1)}>‹</button>`}
      ${place >= 0 && place + 1 < items.length && html`<button class="arrow right" aria-label="The next photo" onClick=${() => step(1)}>›</button>`}
    </div>
    <aside>
      <h2>${now.name || (upload ? "Your photo" : "…")}</h2>
      <div class="do">
        ${judge && html`<button class="yes" aria-pressed=${markOf(now) === "right" ? "true" : "false"} onClick=${() => judge(true)}>✓ Right</button>
          <button class="no" aria-pressed=${markOf(now) === "wrong" ? "true" : "false"} onClick=${() => judge(false)}>✗ Wrong</button>`}
        ${item > 0 && html`<button onClick=${similar}>Similar</button>`}
        ${item > 0 && (around?.more || []).map(([words, run]) => html`<button key=${words} onClick=${() => run(now)}>${words}</button>`)}
      </div>
      ${facts && !facts.error && html`<${Facts} facts=${facts} copies=${listed?.copies || []} />`}
      ${around?.query && !isEmpty(around.query) && item > 0 && html`<${Why} query=${around.query} item=${item} model=${around.model} />`}
      ${item > 0 && html`<${File} key=${item} item=${item} />`}
      <div class="do">
        <button aria-pressed=${cropping ? "true" : "false"} onClick=${() => setCropping(!cropping)}>Search for a part</button>
        ${cropping && html`<button class="main" disabled=${!usableCrop(crop)}
          onClick=${() => search({ ...blank, examples: [{ ...example, crop }] })}>Search for this part</button>`}
        ${item > 0 && html`<button onClick=${() => go("/teach", new URLSearchParams({ item }))}>Teach with this</button>`}
      </div>
    </aside>
    <${Film} items=${items} place=${place} />`;
}

function useFacts(item) {
  const [found, setFound] = useState({});
  useEffect(() => (item ? ask(`/items/${item}`, (facts) => setFound({ facts }), (error) => setFound({ facts: { item, error: error.message } })) : undefined), [item]);
  return found.facts?.item === item ? found.facts : null;
}

function Facts({ facts, copies }) {
  const rows = [
    ["Folder", folderOf(facts.path)],
    ["Taken", when(facts.taken)],
    ["Size", facts.width && `${facts.width} × ${facts.height}, ${bytes(facts.bytes)}`],
    ["Copies", copies.length > 0 && html`${plural(copies.length, "more", "more")} ${copies.map((copy, at) => html`<button key=${copy}
      class="link" aria-label=${`Open copy ${at + 1}`} onClick=${() => view({ item: copy })}>show${copies.length > 1 ? ` ${at + 1}` : ""}</button> `)}`],
    ["Same shot", facts.companions?.join(", ")],
    ["Camera", facts.camera],
    ["Caption", facts.captions.map((c) => c.text).join("; ")],
    ["Tags", facts.tags.map((t) => t.text).slice(0, 12).join(", ")],
  ].filter(([, value]) => value);
  return html`<dl class="facts">${rows.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

// To have what was found: the file, where it lies, and on the own machine its folder.
function File({ item }) {
  const [place, setPlace] = useState(null);
  useEffect(() => ask(`/items/${item}/place`, setPlace), [item]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(place.path);
      say("The path is copied.");
    } catch { say(place.path, { lasting: 20000 }); } // no clipboard without TLS: read it instead
  };
  const folder = () => call(`/items/${item}/folder`, { method: "POST" }).catch(complain);
  return html`<div class="do">
    <a class="button" href=${`/api/v1/items/${item}/file`} download>Download</a>
    ${place && html`<button onClick=${copy} title=${place.path}>Copy path</button>`}
    ${place?.own_machine && html`<button onClick=${folder}>Show in folder</button>`}</div>`;
}

const AROUND = 30; // photos of the film on each side

function Film({ items, place }) {
  const self = useRef(null);
  useLayoutEffect(() => {
    const here = self.current?.querySelector(".on");
    if (here) self.current.scrollLeft = here.offsetLeft - (self.current.clientWidth - here.clientWidth) / 2;
  }, [place]);
  if (place < 0 || items.length < 2) return html`<div class="film"></div>`;
  const from = Math.max(0, place - AROUND);
  return html`<div class="film" ref=${self}>${items.slice(from, place + AROUND).map((one, at) => html`<button key=${one.item}
    class=${from + at === place ? "on" : ""} tabindex="-1" aria-label=${one.name} onClick=${() => view(one)}>
    ${one.thumbnail && html`<img src=${one.thumbnail} alt="" />`}</button>`)}</div>`;
}
