// A query in the address: like=12, like=12@0.1,0.1,0.6,0.6 (a part), like=u<hash> (an upload),
// like=12*2 (counts twice), not=7, text=red+dots; and how it is to be answered.

const EXAMPLE = /^(u[0-9a-f]{64}|\d+)(?:@([\d.]+),([\d.]+),([\d.]+),([\d.]+))?(?:\*([\d.]+))?$/;

function example(text, sign) {
  const found = EXAMPLE.exec(text);
  if (!found) return null;
  const out = found[1].startsWith("u") ? { upload: found[1].slice(1) } : { item: Number(found[1]) };
  if (found[2] !== undefined) out.crop = found.slice(2, 6).map(Number);
  out.weight = sign * Number(found[6] || 1);
  return out;
}

const written = (e) => {
  const which = e.upload ? `u${e.upload}` : String(e.item);
  const crop = e.crop ? `@${e.crop.map((c) => +c.toFixed(4)).join(",")}` : "";
  const weight = Math.abs(e.weight) === 1 ? "" : `*${Math.abs(e.weight)}`;
  return which + crop + weight;
};

// Sorted by the eye, many are still easy to look through.
const usual = (view) => (view === "sorted" ? 200 : 60);

const FILTERS = ["folder", "since", "until", "kind"];
export const filtersOf = (query) => [...query.tags, ...FILTERS.map((name) => query[name]).filter(Boolean)].length;

export function fromParams(params) {
  const examples = [
    ...params.getAll("like").map((t) => example(t, 1)),
    ...params.getAll("not").map((t) => example(t, -1)),
  ].filter(Boolean);
  return {
    text: params.get("text") || "",
    examples,
    tags: params.getAll("tag"),
    use: params.getAll("use"),
    folder: params.get("folder") || "",
    since: params.get("since") || "",
    until: params.get("until") || "",
    kind: params.get("kind") || "",
    order: params.get("order") || "",
    details: params.get("details") === "1",
    model: params.get("model") || "",
    compare: params.get("compare") || "",
    fold: params.get("fold") !== "0",
    same: params.get("same") === "1",
    view: params.get("view") || "",
    k: Math.min(1000, Number(params.get("k")) || usual(params.get("view"))),
  };
}

export function toParams(query) {
  const params = new URLSearchParams();
  if (query.text) params.set("text", query.text);
  for (const e of query.examples) params.append(e.weight > 0 ? "like" : "not", written(e));
  for (const tag of query.tags || []) params.append("tag", tag);
  for (const name of query.use || []) params.append("use", name);
  for (const name of [...FILTERS, "order", "model", "compare", "view"]) if (query[name]) params.set(name, query[name]);
  if (query.fold === false) params.set("fold", "0");
  if (query.same) params.set("same", "1");
  if (query.details) params.set("details", "1");
  if (query.k && query.k !== usual(query.view)) params.set("k", query.k);
  return params;
}

export const markOf = (r) => (r.mark === null || r.mark === undefined ? "" : r.mark > 0 ? "right" : "wrong");

// First results of a same-object search whose geometry is checked.
const CHECKED = 20;

export const blank = { text: "", examples: [], tags: [] };
export const likeItem = (item) => ({ ...blank, examples: [{ item, weight: 1 }] });
export const likeUpload = (upload) => ({ ...blank, examples: [{ upload, weight: 1 }] });
export const isEmpty = (query) => !query.text.trim() && !query.examples.length;
export const canJudge = (query) => query.text.trim() || query.examples.some((e) => e.weight > 0);

// What judgements are about: the pictures and words, and what is searched.
export const asked = (query) => ({ text: query.text, examples: query.examples, line: query.same ? "objects" : "look" });

// Before: as if nothing had been said of any photo for this search.
export const request = (query, model, before = false) => ({
  ...asked(query),
  ...(before && { marks: false }),
  k: query.k,
  model: model || null,
  use: query.use || [],
  fold: query.fold && !query.same, // views of one object are what is wanted
  check: query.same ? Math.min(query.k || CHECKED, CHECKED) : 0,
  filter: {
    tags: query.tags, folder: query.folder || null, since: query.since || null, until: query.until || null, formats: query.kind ? [query.kind] : [],
  },
});

export const sameExample = (a, b) => written({ ...a, weight: 1 }) === written({ ...b, weight: 1 });

export function withExample(query, one) {
  const rest = query.examples.filter((e) => !sameExample(e, one));
  return { ...query, examples: [...rest, one] };
}
