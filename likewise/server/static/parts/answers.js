// Answers to a query, asked anew when the query, a model, a judgement or the index changes.
import { useLayoutEffect, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { call, isAbort } from "/static/lib/api.js";
import { ticks } from "/static/lib/news.js";
import { isEmpty, request, toParams } from "/static/lib/query.js";
import { rememberThumbnails } from "/static/parts/thumbnail.js";

export function useAnswer(query, model, wanted = true) {
  const [state, setState] = useState({ answer: null, error: null, loading: true });
  const [again, setAgain] = useState(0);
  const changed = [useSignal(ticks.collection), useSignal(ticks.judgements), useSignal(ticks.model)].join();
  const name = toParams(query).toString();
  useLayoutEffect(() => {
    if (!wanted || isEmpty(query)) {
      setState({ answer: null, error: null, loading: false });
      return undefined;
    }
    const stop = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    call("/search", { body: request(query, model), abort: stop.signal })
      .then((answer) => {
        rememberThumbnails(answer.results);
        setState({ answer, error: null, loading: false });
      })
      .catch((error) => isAbort(error) || setState((before) => ({ ...before, error, loading: false })));
    return () => stop.abort();
  }, [name, model, wanted, again, changed]);
  return { ...state, refresh: () => setAgain((n) => n + 1) };
}
