// The small picture of an example: an upload's is known, an item's is asked for once.
import { useEffect, useState } from "/static/vendor/preact-htm.js";
import { ask } from "/static/lib/api.js";

// What lists have told of items: a photo that is opened is there at once.
export const known = new Map();

export function rememberThumbnails(items) {
  for (const one of items) if (one.thumbnail) known.set(one.item, one);
}

export function useThumbnail({ item, upload }) {
  const [src, setSrc] = useState(upload ? `/api/v1/uploads/${upload}` : known.get(item)?.thumbnail);
  useEffect(() => {
    if (upload || src) return undefined;
    return ask(`/items/${item}`, (facts) => { rememberThumbnails([facts]); setSrc(facts.thumbnail); });
  }, [item, upload]);
  return src;
}
