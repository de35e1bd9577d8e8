// A round of a search: what the server has of it, what was done to it since, and what to do next.
import { useLayoutEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { call, connection, newKey } from "/static/lib/api.js";
import { after } from "/static/lib/board.js";
import { sessionNews, ticks } from "/static/lib/news.js";
import { deliver, flush, person } from "/static/lib/outbox.js";
import { go, showLarge } from "/static/lib/router.js";
import { complain, say } from "/static/lib/toasts.js";
import { rememberThumbnails } from "/static/parts/thumbnail.js";

const TAB = newKey();
const PATIENCE = 10000;
let last = performance.now();

// Seconds since the last thing done in this tab: what a step took.
function seconds() {
  const now = performance.now();
  const taken = Math.min(86400, (now - last) / 1000);
  last = now;
  return Math.round(taken * 1000) / 1000;
}

// What was done before must be with the server first.  A slow one is waited for, a lost one does not hold things up.
async function allSent(sent) {
  while (sent.size) {
    const late = new Promise((resolve) => { setTimeout(resolve, PATIENCE, "late"); });
    const first = await Promise.race([late, ...[...sent].map((arrived) => arrived.catch(() => {}))]);
    if (first !== "late") continue;
    if (connection.value !== "up") throw new Error("The server does not answer; what you did is kept until it is back. Try again then.");
    flush(); // an answer may have been an error of the server's
  }
}

export const show = (session, round, options) =>
  go("/target", new URLSearchParams(round ? { session, round } : { session }), options);

export async function begin(asked) {
  seconds();
  const seed = crypto.getRandomValues(new Uint32Array(1))[0] >>> 1;
  const board = await call("/sessions", { body: { person: person.value, seed, ...asked }, key: newKey() });
  return board;
}

export const note = (board, step) =>
  deliver(`/sessions/${board.session}/steps`, { round: board.round, seconds: seconds(), tab: TAB, ...step });

export function useRound(session, round) {
  const [board, setBoard] = useState(null);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const [elsewhere, setElsewhere] = useState(null);
  const latest = useRef(null);
  const at = useRef(null); // the round that the address names; null once the screen was left
  const asking = useRef(null); // takes the question for the board back while it is under way
  const seen = useRef(null);
  const pending = useRef(0);
  const sent = useRef(new Set());
  const changed = useSignal(ticks.collection);

  const put = (next) => { latest.current = next; rememberThumbnails(next.pictures); setBoard(next); setError(null); };
  // Ask for the board of the address.  Whatever was asked before is older: its answer is dropped.
  const load = async () => {
    const wanted = at.current;
    if (wanted === null) return;
    asking.current?.abort();
    const stop = asking.current = new AbortController();
    try {
      const found = await call(`/sessions/${session}${wanted ? `?round=${wanted}` : ""}`, { abort: stop.signal });
      if (stop.signal.aborted) return;
      if (pending.current && latest.current?.round === found.round) found.draft = latest.current.draft;
      put(found);
      if (!wanted) show(session, found.round, { replace: true });
    } catch (problem) {
      if (!stop.signal.aborted) (latest.current ? complain : setError)(problem);
    } finally {
      if (asking.current === stop) asking.current = null;
    }
  };
  // The server said something newer than what is under way: ask for that again.
  const overtake = () => { if (asking.current) load(); };

  // With the drawing: no answer for the board before comes in between.
  useLayoutEffect(() => {
    at.current = round;
    if (latest.current?.round === round && seen.current === changed && !asking.current) return;
    seen.current = changed;
    load();
  }, [round, changed]);
  useLayoutEffect(() => () => { at.current = null; asking.current?.abort(); }, []);
  useLayoutEffect(() => { setElsewhere(null); }, [session, round]);
  useLayoutEffect(() => sessionNews.watch((news) => {
    const here = latest.current;
    if (!news || news.session !== session || news.tab === TAB || !here) return;
    if (news.round === here.round || news.kind === "end") load();
    setElsewhere(news);
  }), [session, round]);

  // Whatever is done shows at once and is written down as it happens.
  const act = (step) => {
    const now = latest.current;
    put({ ...now, draft: after(now.draft, step) });
    pending.current += 1;
    const arrived = note(now, step);
    sent.current.add(arrived);
    return arrived
      .then((answer) => {
        pending.current -= 1;
        const here = latest.current;
        if (!pending.current && here.round === now.round) put({ ...here, draft: answer.draft });
        overtake();
      })
      .catch((problem) => { pending.current -= 1; complain(problem); load(); })
      .finally(() => sent.current.delete(arrived));
  };
  const change = async (what, more = {}) => {
    if (busy) return;
    setBusy(true);
    const now = latest.current;
    const from = at.current;
    try {
      await allSent(sent.current);
      const body = { round: now.round, seconds: seconds(), tab: TAB, ...more };
      const next = await call(`/sessions/${session}/${what}`, { body, key: newKey() });
      if (what === "end" || at.current !== from) { // whoever went elsewhere meanwhile stays there
        await load();
        return next;
      }
      put(next);
      if (next.round !== now.round) show(session, next.round);
      else overtake();
      return next;
    } catch (problem) {
      complain(problem);
      load();
    } finally {
      setBusy(false);
    }
  };
  const goTo = (number) => {
    if (board.state === "open") note({ session, round: number }, { kind: "look" }).catch(() => {});
    show(session, number);
  };
  const end = async (keep) => {
    const found = latest.current.draft.target;
    const answer = await change("end", { found, keep, person: person.value });
    if (answer && found) showLarge(String(found)); // the end of a search is the photo, large
    if (answer && keep) say(answer.judgements ? "Thank you: later searches may learn from it." : "Thank you. There was no order to learn from.");
  };
  return { board, error, busy, elsewhere, act, goTo, end, next: () => change("next"), hundred: () => change("hundred"), undo: () => change("undo") };
}
