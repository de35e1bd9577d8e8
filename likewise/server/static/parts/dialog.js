// A modal dialog of the browser's own: it keeps the focus inside and gives it back.
import { html, useLayoutEffect, useRef } from "/static/vendor/preact-htm.js";

export function Dialog({ open, onClose, label, children, ...rest }) {
  const self = useRef(null);
  // At once, not after the paint: an Escape that follows on the heels must find it open.
  useLayoutEffect(() => {
    const dialog = self.current;
    if (open && !dialog.open) dialog.showModal();
    if (!open && dialog.open) dialog.close();
  }, [open]);
  const outside = (event) => { if (event.target === self.current) onClose(); };
  return html`<dialog ref=${self} aria-label=${label} onClose=${onClose} onClick=${outside} ...${rest}>
    ${open && html`<div class="dialog-body">
      <button class="quiet close" aria-label="Close" onClick=${onClose}>×</button>${children}</div>`}
  </dialog>`;
}
