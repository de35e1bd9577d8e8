// A value that components can watch: the whole of the page's shared state is made of these.
import { useEffect, useState } from "/static/vendor/preact-htm.js";

export function signal(value) {
  const watchers = new Set();
  return {
    get value() { return value; },
    set value(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const watcher of [...watchers]) watcher(next);
    },
    watch(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}

export function useSignal(source) {
  const [, redraw] = useState(0);
  useEffect(() => {
    const bump = () => redraw((n) => n + 1);
    bump(); // it may have changed between the first drawing and now
    return source.watch(bump);
  }, [source]);
  return source.value;
}
