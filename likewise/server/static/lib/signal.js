// A value that components can watch: the whole of the page's shared state is made of these.
import { useLayoutEffect, useState } from "/static/vendor/preact-htm.js";

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

// Watched from the moment it is drawn, so that nothing that happens before the paint is missed.
export function useSignal(source) {
  const [, redraw] = useState(0);
  const drawn = source.value;
  useLayoutEffect(() => {
    const bump = () => redraw((n) => n + 1);
    if (!Object.is(drawn, source.value)) bump(); // changed by another part of this drawing
    return source.watch(bump);
  }, [source]);
  return drawn;
}
