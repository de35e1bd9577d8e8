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
  // The same screen shown a little otherwise: the photo that is open stays open.
  const open = new URLSearchParams(location.search).get("show");
  if (replace && open && path === location.pathname && !params?.has("show")) {
    params = new URLSearchParams(params || "");
    params.set("show", open);
  }
  const to = address(path, params);
  if (to === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](replace ? history.state : null, "", to);
  route.value = read();
  if (!replace) scrollTo(0, 0);
}

// The photo that is open is part of the address too: Back closes it, and the list stays where it was.
export function showLarge(name) {
  const params = new URLSearchParams(location.search);
  const before = params.get("show");
  if (before === name) return;
  params.set("show", name);
  history[before ? "replaceState" : "pushState"](before ? history.state : { opened: true }, "", address(location.pathname, params));
  route.value = read();
}

export function closeLarge() {
  if (!route.value.params.has("show")) return;
  if (history.state?.opened) { history.back(); return; }
  const params = new URLSearchParams(location.search);
  params.delete("show");
  history.replaceState(null, "", address(location.pathname, params));
  route.value = read();
}

// Whether the person is still where this was asked: who went elsewhere is not fetched back by a late answer.
export function staying() {
  const { path, params } = route.value;
  const from = { path, params: without(params) };
  return () => route.value.path === from.path && without(route.value.params) === from.params;
}

function without(params) {
  const rest = new URLSearchParams(params);
  rest.delete("show");
  return rest.toString();
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
