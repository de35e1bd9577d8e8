// The address is the state: which screen, and what it shows.  Back and reload follow from that.
import { html } from "/static/vendor/preact-htm.js";
import { signal } from "/static/lib/signal.js";

const read = () => ({ path: location.pathname, params: new URLSearchParams(location.search) });

export const route = signal(read());

addEventListener("popstate", () => { route.value = read(); });

export function address(path, params) {
  const text = params ? params.toString() : "";
  return text ? `${path}?${text}` : path;
}

export function go(path, params, { replace = false } = {}) {
  const to = address(path, params);
  if (to === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  route.value = read();
  if (!replace) scrollTo(0, 0);
}

// Whether the person is still where this was asked: who went elsewhere is not fetched back by a late answer.
export function staying() {
  const from = route.value;
  return () => route.value === from;
}

// A link that stays on the page; with ctrl or the middle button it opens a tab as links do.
export function Link({ to, params, children, ...rest }) {
  const follow = (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(to, params);
  };
  return html`<a href=${address(to, params)} onClick=${follow} ...${rest}>${children}</a>`;
}
