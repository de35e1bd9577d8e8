// The small picture of an example: an upload's is known, an item's is asked for once.
import { useEffect, useState } from "/static/vendor/preact-htm.js";
import { ask } from "/static/lib/api.js";

const known = new Map();

export function rememberThumbnails(items) {
  for (const one of items) if (one.thumbnail) known.set(one.item, one.thumbnail);
}

export function useThumbnail({ item, upload }) {
  const [src, setSrc] = useState(upload ? `/api/v1/uploads/${upload}` : known.get(item));
  useEffect(() => {
    if (upload || src) return undefined;
    return ask(`/items/${item}`, (facts) => { rememberThumbnails([facts]); setSrc(facts.thumbnail); });
  }, [item, upload]);
  return src;
}
