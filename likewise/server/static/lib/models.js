// What was learned so far, asked anew when that may have changed.
import { useEffect, useState } from "/static/vendor/preact-htm.js";
import { ask } from "/static/lib/api.js";
import { ticks } from "/static/lib/news.js";
import { useSignal } from "/static/lib/signal.js";

export function useModels() {
  const [models, setModels] = useState([]);
  const changed = [useSignal(ticks.model), useSignal(ticks.collection)].join();
  useEffect(() => ask("/models", setModels), [changed]);
  return models;
}
