// The end: whether others may learn from the search, and what came of it.
import { html } from "/static/vendor/preact-htm.js";
import { plural } from "/static/lib/format.js";
import { likeItem, toParams } from "/static/lib/query.js";
import { Link } from "/static/lib/router.js";
import { Dialog } from "/static/parts/dialog.js";
import { nextOne, study } from "/static/parts/study.js";
import { useThumbnail } from "/static/parts/thumbnail.js";
import { view } from "/static/parts/viewer.js";

export function EndQuestion({ board, busy, end, goOn }) {
  const { ending, target } = board.draft;
  const open = board.state === "open" && !!ending;
  return html`<${Dialog} open=${open} onClose=${() => open && goOn()} label="The end of the search" class="ending">
    <h2>${ending === "found" ? `Found in ${plural(board.depth + 1, "round")}` : "Giving up"}</h2>
    ${target && html`<${Small} item=${target} />`}
    <p>May this search teach others? Its order of photos would become feedback like any other, and later
      searches would begin from what it learned. It stays on this machine either way.</p>
    <p class="buttons big">
      <button class="main" disabled=${busy} onClick=${() => end(true)}>Yes, it may</button>
      <button disabled=${busy} onClick=${() => end(false)}>No, only end it</button>
      <button disabled=${busy} onClick=${goOn}>Go on searching</button>
    </p><//>`;
}

export function Ended({ board }) {
  const found = board.outcome.found;
  return html`<section class="ended" aria-label="The end of the search">
    ${found && html`<${Small} item=${found} />`}
    <div><h2>${found ? `Found in ${plural(board.outcome.rounds, "round")}` : `Given up after ${plural(board.outcome.rounds, "round")}`}</h2>
    <p class="soft">${board.outcome.kept ? "Others may learn from this search." : "Nobody learns from this search."}</p>
    <p class="buttons">
      ${study.value ? html`<button class="main" onClick=${nextOne}>Next photo of the study</button>` : html`<${Link} class="button main" to="/target">Another search<//>`}
      ${found && html`<button onClick=${() => view({ item: found })}>Open it</button>
        <${Link} class="button" to="/results" params=${toParams(likeItem(found))}>Similar<//>`}
      <a class="button" href=${`/api/v1/steps.csv?session=${board.session}`} download>Times as CSV</a></p></div>
  </section>`;
}

function Small({ item }) {
  const src = useThumbnail({ item });
  return src ? html`<img class="end-picture" src=${src} alt="the photo that was looked for" />` : null;
}
