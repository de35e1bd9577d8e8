// The page: a header, one screen, and what lies above every screen.
import { html, render, useLayoutEffect } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { Link, go, route } from "/static/lib/router.js";
import { helpOpen, useKeys } from "/static/lib/keys.js";
import { begin } from "/static/lib/news.js";
import { flush } from "/static/lib/outbox.js";
import { selectNone } from "/static/lib/selection.js";
import { Toasts } from "/static/lib/toasts.js";
import { takeDropsAndPastes } from "/static/lib/upload.js";
import { Banner, Header, Tabs } from "/static/parts/header.js";
import "/static/parts/searches.js"; // it notes what is searched for on any screen
import { Coach } from "/static/parts/coach.js";
import { Help } from "/static/parts/dialog.js";
import { Viewer } from "/static/parts/viewer.js";
import { useModule } from "/static/lib/modules.js";

// A further screen is one line here, one in the header, and one in the server's list.
const SCREENS = {
  "/": ["likewise", "Home", () => import("/static/screens/home.js")],
  "/results": ["Photos · likewise", "Results", () => import("/static/screens/results.js")],
  "/target": ["Find one · likewise", "Target", () => import("/static/screens/target.js")],
  "/teach": ["Teach · likewise", "Teach", () => import("/static/screens/teach.js")],
  "/models": ["Models · likewise", "Models", () => import("/static/screens/models.js")],
  "/jobs": ["Jobs and problems · likewise", "Jobs", () => import("/static/screens/jobs.js")],
};

const Nowhere = () => html`<div class="empty"><h1>There is nothing at this address</h1>
  <p><${Link} to="/">Home<//> shows your photos and searches them.</p></div>`;
const NOWHERE = ["Nothing here · likewise", "Nowhere", async () => ({ Nowhere })];

function App() {
  const { path, params } = useSignal(route);
  const large = params.has("show"); // a photo is open over everything
  const [title, name, fetching] = SCREENS[path] || NOWHERE;
  const Screen = useModule(fetching)?.[name];
  useLayoutEffect(() => { document.title = title; selectNone(); }, [path]);
  useKeys([
    { keys: ["?"], shown: "?", says: "this list of keys", run: () => { helpOpen.value = true; } },
    { keys: ["/"], shown: "/", says: "to the search box", run: () => document.querySelector("#words")?.focus() },
    { keys: ["h"], shown: "H", says: "home", run: () => go("/") },
    { keys: ["b"], shown: "B", says: "find one photo that you have in mind", run: () => go("/target") },
    { keys: ["t"], shown: "T", says: "teach", run: () => go("/teach") },
    { keys: ["o"], shown: "O", says: "models", run: () => go("/models") },
    { keys: ["j"], shown: "J", says: "jobs and problems", run: () => go("/jobs") },
  ]);
  return html`
    <a class="skip" href="#main">Skip to the photos</a>
    <${Header} path=${path} params=${params} inert=${large} />
    <${Banner} /><${Coach} path=${path} />
    <main id="main" tabindex="-1" inert=${large}>${Screen && html`<${Screen} params=${params} key=${path} />`}</main>
    <${Tabs} path=${path} params=${params} inert=${large} />
    <${Viewer} /><${Help} /><${Toasts} />
    <div class="drop-here" aria-hidden="true">Drop the photo to search with it</div>`;
}

takeDropsAndPastes();
begin();
flush();
render(html`<${App} />`, document.querySelector("#app"));
