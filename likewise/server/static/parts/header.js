// The bar at the top: one field to search with, where one is, and behind ⋯ what is needed seldom; on a phone
// the places are tabs at the foot.  The banner below it says when the server is away.
import { html, useLayoutEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { connection } from "/static/lib/api.js";
import { Link } from "/static/lib/router.js";
import { jobs, running, status } from "/static/lib/news.js";
import { person, waiting } from "/static/lib/outbox.js";
import { helpOpen } from "/static/lib/keys.js";
import { plural } from "/static/lib/format.js";
import { blank, fromParams } from "/static/lib/query.js";
import { FocusedInput } from "/static/parts/dialog.js";
import { SearchBox } from "/static/parts/search-box.js";

const PLACES = [["Photos", "/", "pictures"], ["Map", "/", "map"], ["Find one", "/target"], ["Teach", "/teach"]];
const THEMES = ["auto", "light", "dark"];

const isHere = ([, to, wanted], path, params) =>
  (to === "/" ? ["/", "/results"].includes(path) && (params.get("view") === "map" && path === "/") === (wanted === "map") : path === to);

function Places({ path, params }) {
  return PLACES.map((place) => html`<${Link} key=${place[0]} to=${place[1]} params=${place[2] && new URLSearchParams({ view: place[2] })}
    aria-current=${isHere(place, path, params) ? "page" : null}>${place[0]}<//>`);
}

export function Header({ path, params, inert }) {
  const query = path === "/results" ? fromParams(params) : blank;
  return html`<header inert=${inert}>
    <${Link} to="/" class="brand"><img src="/static/icon.svg" alt="" width="24" height="24" /><span>likewise</span><//>
    <${SearchBox} query=${query} />
    <nav aria-label="Screens"><${Places} path=${path} params=${params} /></nav>
    <${Menu} path=${path} />
  </header>`;
}

export const Tabs = ({ path, params, inert }) => html`<nav class="tabs" aria-label="Screens" inert=${inert}><${Places} path=${path} params=${params} /></nav>`;

function Menu({ path }) {
  const at = useSignal(status);
  const busy = running(useSignal(jobs));
  const [open, setOpen] = useState(false);
  const self = useRef(null);
  const link = (to, name) => html`<${Link} to=${to} aria-current=${path === to ? "page" : null}>${name}<//>`;
  // Whatever is chosen closes it, but what is typed or switched in it does not.
  const chosen = (event) => { if (event.target.closest("a")) setOpen(false); };
  useLayoutEffect(() => {
    if (!open) return undefined;
    const elsewhere = (event) => { if (!self.current.contains(event.target)) setOpen(false); };
    addEventListener("pointerdown", elsewhere);
    return () => removeEventListener("pointerdown", elsewhere);
  }, [open]);
  return html`<div class="menu" ref=${self} onKeyDown=${(e) => e.key === "Escape" && setOpen(false)}>
    <button class="quiet" aria-expanded=${open ? "true" : "false"} aria-label=${busy ? `More, ${percent(busy)} done` : "More"} onClick=${() => setOpen(!open)}>⋯${busy && html`<span class="busy"> ${percent(busy)}</span>`}</button>
    ${open && html`<div class="menu-list" onClick=${chosen}>
      ${at && html`<p class="soft" title="The collection">${at.name}</p>`}
      ${link("/models", "Models")}${link("/jobs", busy ? `Jobs ${percent(busy)}` : "Jobs")}
      <${Person} /><${Theme} />
      <button class="quiet" onClick=${() => { setOpen(false); helpOpen.value = true; }}>Keys <kbd>?</kbd></button>
      <a href="/sign-out">Sign out</a></div>`}
  </div>`;
}

const percent = (job) => (job.total ? `${Math.floor((100 * job.done) / job.total)} %` : "…");

function Person() {
  const name = useSignal(person);
  const [open, setOpen] = useState(false);
  if (!open) {
    return html`<button class="quiet person" onClick=${() => setOpen(true)}
      title="Your name is kept with your feedback">${name || "Your name"}</button>`;
  }
  const keep = (event) => {
    event.preventDefault();
    person.value = event.target.elements.name.value.trim().slice(0, 60);
    setOpen(false);
  };
  return html`<form class="person" onSubmit=${keep}>
    <${FocusedInput} name="name" aria-label="Your name, kept with your feedback" maxlength="60" value=${name}
      onKeyDown=${(e) => e.key === "Escape" && setOpen(false)} />
    <button>Keep</button></form>`;
}

// Applied at once, not after the next paint: the page must not flash in the other colours.
function wear(theme) {
  localStorage.setItem("likewise-theme", theme);
  document.documentElement.dataset.theme = theme;
  return theme;
}

let worn = wear(localStorage.getItem("likewise-theme") || "auto");

function Theme() {
  const [theme, setTheme] = useState(worn);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  return html`<button class="quiet" onClick=${() => { worn = wear(next); setTheme(next); }}
    aria-label=${`Colours: ${theme}; change to ${next}`}>Colours: ${theme}</button>`;
}

export function Banner() {
  const state = useSignal(connection);
  const unsent = useSignal(waiting);
  const kept = unsent ? ` ${plural(unsent, "mark")} will be sent when it is back.` : "";
  if (state === "lost") {
    return html`<p class="banner" role="status">The server does not answer; trying again.${kept}</p>`;
  }
  if (state === "out") {
    return html`<p class="banner" role="alert">You are not signed in any more: open the address that
      likewise printed when it started.${kept}</p>`;
  }
  return null;
}
