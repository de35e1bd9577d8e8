// Answers to a query, asked anew when the query, a model, a judgement or the index changes.
import { useEffect, useLayoutEffect, useState } from "/static/vendor/preact-htm.js";
import { useSignal } from "/static/lib/signal.js";
import { ask } from "/static/lib/api.js";
import { ticks } from "/static/lib/news.js";
import { isEmpty, request, toParams } from "/static/lib/query.js";
import { rememberThumbnails } from "/static/parts/thumbnail.js";

// before: as it would be without the marks of this search.
export function useAnswer(query, model, wanted = true, before = false) {
  const [state, setState] = useState({ answer: null, error: null, loading: true });
  const [again, setAgain] = useState(0);
  const changed = [useSignal(ticks.collection), useSignal(ticks.judgements), useSignal(ticks.model)].join();
  const name = toParams({ ...query, details: false, order: "", k: 0 }).toString(); // what is asked, however much of it
  useLayoutEffect(() => {
    if (!wanted || isEmpty(query)) {
      setState({ answer: null, error: null, loading: false });
      return undefined;
    }
    setState((before) => ({ ...before, loading: true }));
    const take = (answer) => {
      rememberThumbnails([...answer.results, ...answer.feedback]);
      setState({ answer: { ...answer, name }, error: null, loading: false });
    };
    const fail = (error) => setState((before) => ({ ...before, error, loading: false }));
    return ask("/search", take, fail, { body: request(query, model, before) });
  }, [name, query.k, model, wanted, before, again, changed]);
  return { ...state, refresh: () => setAgain((n) => n + 1) };
}

// What was learned so far.
export function useModels() {
  const [models, setModels] = useState([]);
  const changed = [useSignal(ticks.model), useSignal(ticks.collection)].join();
  useEffect(() => ask("/models", setModels), [changed]);
  return models;
}
