// How far a job is: a bar, a rate, the time left.
import { html } from "/static/vendor/preact-htm.js";
import { count, duration } from "/static/lib/format.js";

const TITLES = { index: "Reading photos", learn: "Learning from your feedback", demo: "Making the demo", map: "Drawing the map" };
export const title = (job) => TITLES[job.kind] || job.kind;

export function Progress({ job }) {
  const facts = [
    job.total > 1 && `${count(job.done)} of ${count(job.total)}`,
    job.rate > 0 && `${job.rate.toFixed(job.rate < 10 ? 1 : 0)} a second`,
    job.seconds_left > 0 && `${duration(job.seconds_left)} left`,
  ].filter(Boolean);
  return html`<div class="progress">
    <progress aria-label=${title(job)} max=${job.total || 1} value=${job.total > 1 ? job.done : undefined}></progress>
    <span class="number">${facts.join(" · ") || "beginning …"}</span>
  </div>`;
}
