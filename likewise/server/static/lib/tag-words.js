// A word or two that this collection knows, for the search field to suggest: some of its commonest tags.
import { useEffect } from "/static/vendor/preact-htm.js";
import { signal, useSignal } from "/static/lib/signal.js";
import { ask } from "/static/lib/api.js";
import { status } from "/static/lib/news.js";

const ASKED = 12;
const words = signal("");
let asked = "";

export function useWords() {
  const at = useSignal(status);
  const now = at?.findable > 0 ? `${at.server} ${at.generation}` : "";
  useEffect(() => {
    if (!now || asked === now) return;
    asked = now;
    ask(`/tags?limit=${ASKED}`, (tags) => {
      const short = tags.map(({ tag }) => tag).filter((tag) => tag.length < 20);
      const at = [0, Math.floor(short.length / 2)];
      words.value = [...new Set(at.map((nth) => short[nth]))].filter(Boolean).join(", ");
    }, () => { asked = ""; });
  }, [now]);
  return useSignal(words);
}
