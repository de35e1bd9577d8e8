// The list of keys of the screen at hand.
import { html } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { helpOpen, listed } from "/static/lib/keys.js";
import { Dialog } from "/static/parts/dialog.js";

export function Help() {
  const open = useSignal(helpOpen);
  return html`<${Dialog} open=${open} onClose=${() => { helpOpen.value = false; }} label="Keys" class="help">
    <h2>Keys</h2>
    <dl>${open && listed().map((k) => html`<div key=${k.shown}><dt><kbd>${k.shown}</kbd></dt><dd>${k.says}</dd></div>`)}</dl>
  <//>`;
}
