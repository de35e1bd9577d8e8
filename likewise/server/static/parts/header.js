// The line at the top: where one is, what is going on, who is judging; and the banner below it
// that says when the server is away.
import { html, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { connection } from "/static/lib/api.js";
import { Link } from "/static/lib/router.js";
import { jobs, running, status } from "/static/lib/news.js";
import { person, waiting } from "/static/lib/outbox.js";
import { helpOpen } from "/static/lib/keys.js";
import { plural } from "/static/lib/format.js";
import { FocusedInput } from "/static/parts/focused.js";

const PLACES = [
  ["/", "Home"], ["/target", "Target"], ["/teach", "Teach"], ["/models", "Models"], ["/jobs", "Jobs"],
];
const THEMES = ["auto", "light", "dark"];

export function Header({ path }) {
  const at = useSignal(status);
  const busy = running(useSignal(jobs));
  const link = ([to, name]) => html`
    <${Link} to=${to} aria-current=${path === to ? "page" : null}>
      ${name}${to === "/jobs" && busy && html` <span class="busy">${percent(busy)}</span>`}
    <//>`;
  return html`<header>
    <${Link} to="/" class="brand"><img src="/static/icon.svg" alt="" width="24" height="24" />likewise<//>
    ${at && html`<span class="collection-name" title="The collection">${at.name}</span>`}
    <nav aria-label="Screens">${PLACES.map(link)}</nav>
    <span class="gap"></span>
    <${Person} /><${Theme} />
    <button class="quiet" onClick=${() => { helpOpen.value = true; }} title="Keys (?)" aria-label="Keys">?</button>
  </header>`;
}

const percent = (job) => (job.total ? `${Math.floor((100 * job.done) / job.total)} %` : "…");

function Person() {
  const name = useSignal(person);
  const [open, setOpen] = useState(false);
  if (!open) {
    return html`<button class="quiet person" onClick=${() => setOpen(true)}
      title="Your name is kept with your judgements">${name || "Your name"}</button>`;
  }
  const keep = (event) => {
    event.preventDefault();
    person.value = event.target.elements.name.value.trim().slice(0, 60);
    setOpen(false);
  };
  return html`<form class="person" onSubmit=${keep}>
    <${FocusedInput} name="name" aria-label="Your name, kept with your judgements" maxlength="60" value=${name}
      onKeyDown=${(e) => e.key === "Escape" && setOpen(false)} />
    <button>Keep</button><a href="/sign-out">Sign out</a></form>`;
}

// Applied at once, not after the next paint: the page must not flash in the other colours.
function wear(theme) {
  localStorage.setItem("likewise-theme", theme);
  document.documentElement.dataset.theme = theme;
  return theme;
}

const worn = wear(localStorage.getItem("likewise-theme") || "auto");

function Theme() {
  const [theme, setTheme] = useState(worn);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  return html`<button class="quiet" onClick=${() => setTheme(wear(next))} title="Light or dark"
    aria-label=${`Colours: ${theme}; change to ${next}`}>${{ auto: "◐", light: "☼", dark: "☾" }[theme]}</button>`;
}

export function Banner() {
  const state = useSignal(connection);
  const unsent = useSignal(waiting);
  const kept = unsent ? ` ${plural(unsent, "judgement")} will be sent when it is back.` : "";
  if (state === "lost") {
    return html`<p class="banner" role="status">The server does not answer; trying again.${kept}</p>`;
  }
  if (state === "out") {
    return html`<p class="banner" role="alert">You are not signed in any more: open the address that
      likewise printed when it started.${kept}</p>`;
  }
  return null;
}
