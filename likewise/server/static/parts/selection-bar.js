// What can be done with the selected pictures.
import { html, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { call, newKey } from "/static/lib/api.js";
import { count, plural } from "/static/lib/format.js";
import { KEY, useKeys } from "/static/lib/keys.js";
import { selectAll, selectNone, selected } from "/static/lib/selection.js";
import { complain, say } from "/static/lib/toasts.js";
import { FocusedInput } from "/static/parts/dialog.js";

const MOST = 10000; // photos that the server tags or exports at a time

export function SelectionBar({ results, judge, add, open }) {
  const chosen = useSignal(selected);
  const [tagging, setTagging] = useState(false);
  const order = results.map((r) => r.item);
  const items = order.filter((i) => chosen.has(i));
  useKeys([
    { ...KEY.all, off: !results.length, run: () => selectAll(order) },
    { ...KEY.none, off: !items.length, run: selectNone },
  ]);
  if (!items.length) return null;
  const picked = results.filter((r) => chosen.has(r.item));
  const tag = async (event) => {
    event.preventDefault();
    const name = event.target.elements.tag.value.trim();
    if (!name) return;
    setTagging(false);
    try {
      await call("/tags", { body: { items, add: [name] }, key: newKey() });
      say(`Tagged ${plural(items.length, "photo")} with “${name}”.`, {
        action: "Undo",
        run: () => call("/tags", { body: { items, remove: [name] }, key: newKey() }).catch(complain),
      });
    } catch (error) { complain(error); }
  };
  const save = async () => {
    try {
      const file = URL.createObjectURL(await call("/selections/export", { body: { items } }));
      const link = Object.assign(document.createElement("a"), { href: file, download: "selection.csv" });
      link.click();
      setTimeout(() => URL.revokeObjectURL(file), 10000);
    } catch (error) { complain(error); }
  };
  const many = items.length > MOST;
  const limit = many ? `At most ${count(MOST)} photos at a time` : "";
  return html`<div class="selection-bar" role="toolbar" aria-label="Selected photos">
    <b>${plural(items.length, "photo")} selected</b>
    ${judge && html`<button class="yes" onClick=${() => judge(picked, true)}>✓ Right</button>
      <button class="no" onClick=${() => judge(picked, false)}>✗ Wrong</button>`}
    ${add && html`<button onClick=${() => add(items, 1)} title="Add to the search: like these">+ More like these</button>
      <button onClick=${() => add(items, -1)} title="Add to the search: not like these">− Less like these</button>`}
    ${open && picked.length === 1 && html`<button onClick=${() => open(picked[0])}>Open</button>`}
    ${tagging
      ? html`<form onSubmit=${tag}><${FocusedInput} name="tag" aria-label="Tag" maxlength="100" /><button>Tag</button></form>`
      : html`<button disabled=${many} title=${limit} onClick=${() => setTagging(true)}>Tag …</button>`}
    <button disabled=${many} title=${limit} onClick=${save}>Export CSV</button>
    <button onClick=${() => selectAll(order)}>All</button>
    <button onClick=${selectNone}>None</button>
  </div>`;
}
