// An input that has the focus as soon as it is there.
import { html, useLayoutEffect, useRef } from "/static/vendor/preact-htm.js";

export function FocusedInput(props) {
  const self = useRef(null);
  useLayoutEffect(() => self.current.focus(), []);
  return html`<input ref=${self} ...${props} />`;
}
