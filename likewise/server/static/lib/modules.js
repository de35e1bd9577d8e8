// Modules that are fetched when they are needed first.
import { useLayoutEffect, useState } from "/static/vendor/preact-htm.js";
import { connection } from "/static/lib/api.js";

const here = new Map(); // what fetches a module -> the module

// The module, or null until it is there.  fetching: () => import("...")
export function useModule(fetching, wanted = true) {
  const [, redraw] = useState(0);
  useLayoutEffect(() => {
    if (!wanted || here.has(fetching)) return;
    fetching().then((module) => { here.set(fetching, module); redraw((n) => n + 1); }, tryLater);
  }, [fetching, wanted]);
  return here.get(fetching) || null;
}

// A browser may remember that a module could not be had, and a server that was updated has others: begin anew.
function tryLater() {
  if (connection.value === "up") connection.value = "lost";
  connection.watch((state) => { if (state === "up") location.reload(); });
}
