// A dialog of the browser's own: it gives the focus back.  A modal one also keeps it inside; one that is not
// lets notices stand above it.
import { html, useLayoutEffect, useRef } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { helpOpen, listed } from "/static/lib/keys.js";

export function Dialog({ open, onClose, label, modal = true, children, ...rest }) {
  const self = useRef(null);
  // At once, not after the paint: an Escape that follows on the heels must find it open.
  useLayoutEffect(() => {
    const dialog = self.current;
    if (open && !dialog.open) dialog[modal ? "showModal" : "show"]();
    if (!open && dialog.open) dialog.close();
  }, [open]);
  const outside = (event) => { if (modal && event.target === self.current) onClose(); };
  // The state first, then the dialog.  By itself the browser closes it and tells a moment later;
  // what is pressed in between would meet a state that still says open.
  const escape = (event) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.preventDefault();
    onClose();
  };
  const closed = () => { if (!self.current?.open) onClose(); }; // by another gesture of the system
  return html`<dialog ref=${self} aria-label=${label} onKeyDown=${escape} onClose=${closed} onClick=${outside} ...${rest}>
    ${open && html`<div class="dialog-body">
      <button class="quiet close" aria-label="Close" onClick=${onClose}>×</button>${children}</div>`}
  </dialog>`;
}

// The list of keys of the screen at hand.
export function Help() {
  const open = useSignal(helpOpen);
  return html`<${Dialog} open=${open} onClose=${() => { helpOpen.value = false; }} label="Keys" class="help">
    <h2>Keys</h2>
    <dl>${open && listed().map((k) => html`<div key=${k.shown}><dt><kbd>${k.shown}</kbd></dt><dd>${k.says}</dd></div>`)}</dl>
  <//>`;
}

// An input that has the focus as soon as it is there.
export function FocusedInput(props) {
  const self = useRef(null);
  useLayoutEffect(() => self.current.focus(), []);
  return html`<input ref=${self} ...${props} />`;
}
