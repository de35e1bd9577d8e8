// One picture large: its facts, why it is there, a part of it to search for.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { signal, useSignal } from "/static/lib/signal.js";
import { ask } from "/static/lib/api.js";
import { go } from "/static/lib/router.js";
import { blank, isEmpty, likeItem, toParams } from "/static/lib/query.js";
import { CropPicture, usableCrop } from "/static/parts/crop.js";
import { Dialog } from "/static/parts/dialog.js";
import { Why } from "/static/parts/why.js";

// { item | upload, query, model, judge }
export const viewed = signal(null);
export const view = (what) => { viewed.value = what; };

export function Viewer() {
  const what = useSignal(viewed);
  const close = () => { viewed.value = null; };
  return html`<${Dialog} open=${!!what} onClose=${close} label="Picture" class="viewer">
    ${what && html`<${Inside} key=${what.item || what.upload} what=${what} close=${close} />`}<//>`;
}

function Inside({ what, close }) {
  const [facts, setFacts] = useState(null);
  const [crop, setCrop] = useState(what.crop || null);
  useEffect(() => (what.item ? ask(`/items/${what.item}`, setFacts, (e) => setFacts({ error: e.message })) : undefined), []);
  const src = what.upload ? `/api/v1/uploads/${what.upload}` : facts?.picture;
  const example = { ...(what.upload ? { upload: what.upload } : { item: what.item }), weight: 1 };
  const search = (query) => { close(); go("/results", toParams(query)); };
  const part = { ...blank, examples: [{ ...example, crop }] };
  const judge = (relevant) => { what.judge(relevant); close(); };
  return html`
    <h2>${facts?.name || (what.upload ? "Your picture" : "…")}</h2>
    <div class="viewer-columns">
      ${facts?.error ? html`<p>${facts.error}</p>` : src && html`<${CropPicture} src=${src} alt=${facts?.name || "the picture you brought"} crop=${crop} setCrop=${setCrop} />`}
      <div>
        <p class="buttons">
          <button class="main" disabled=${!usableCrop(crop)} onClick=${() => search(part)}>Search for this part</button>
          ${what.item && html`<button onClick=${() => search(likeItem(what.item))}>More like this</button>`}
          ${what.judge && html`<button class="yes" onClick=${() => judge(true)}>✓ Relevant</button>
            <button class="no" onClick=${() => judge(false)}>✗ Not this</button>`}
          ${what.item && html`<button onClick=${() => { close(); go("/teach", new URLSearchParams({ item: what.item })); }}>Teach with this</button>`}
        </p>
        ${facts && !facts.error && html`<${Facts} facts=${facts} />`}
        ${what.item && what.query && !isEmpty(what.query) && html`<${Why} query=${what.query} item=${what.item} model=${what.model} />`}
      </div>
    </div>`;
}

function Facts({ facts }) {
  const rows = [
    ["File", facts.path],
    ["Size", facts.width && `${facts.width} × ${facts.height}`],
    ["Taken", facts.taken],
    ["Camera", facts.camera],
    ["Captions", facts.captions.map((c) => c.text).join("; ")],
    ["Tags", facts.tags.map((t) => t.text).slice(0, 12).join(", ")],
  ].filter(([, value]) => value);
  return html`<dl class="facts">${rows.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}
