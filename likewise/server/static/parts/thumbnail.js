// The small picture of an example: an upload's is known, an item's is asked for once.
import { useEffect, useState } from "/static/vendor/preact-htm.js";
import { call } from "/static/lib/api.js";

const known = new Map();

export function rememberThumbnails(items) {
  for (const one of items) if (one.thumbnail) known.set(one.item, one.thumbnail);
}

export function useThumbnail({ item, upload }) {
  const [src, setSrc] = useState(upload ? `/api/v1/uploads/${upload}` : known.get(item));
  useEffect(() => {
    if (upload || src) return;
    call(`/items/${item}`).then((facts) => { rememberThumbnails([facts]); setSrc(facts.thumbnail); }).catch(() => {});
  }, [item, upload]);
  return src;
}
