// The glossary: what the program calls a thing, and what the page calls it for a person.  The words on
// the left stand on no screen but Models and what lies behind "details"; a test holds the page to it.
export const GLOSSARY = {
  "plain": "without anything learned",
  "the active one": "what is in use",
  "index 1": "details",
  "guard": "check",
  "bilinear": "learned from your feedback",
  "judgement": "feedback",
  "held-out": "feedback it had not seen",
  "judged-only MAP": "how many of the first are right",
  "the query": "your search",
  "reference query": "this photo",
  "candidate": "photo",
  "deep": "what it shows",
  "logits": "kind of thing",
  "stand for the collection": "a sample of your photos",
  "what was said": "your feedback",
  "a random hundred": "another sample",
  "it may serve": "clearly better",
  "near-duplicates": "copies",
  "≈": "similar",
  "⤢": "open",
};

// What a share of the look is called, whichever network gives it; a feature of one's own keeps its name.
const LOOKS = { deep: GLOSSARY.deep, logits: GLOSSARY.logits, local: "the same details" };
export const lookName = (block) => LOOKS[block.replace(/-lite\d.*$/, "")] || block;

// "deep 40 %, colour 26 %" as the server writes it, in the words of a person.
export const shares = (words) => words.split(", ").map((part) => part.replace(/^\S+/, lookName)).join(", ");

// What a finished check means for whoever taught.
export const verdict = (model) => {
  if (model.active) return "In use: your searches are better for it.";
  if (model.card.guard?.by === "check" && !model.card.guard.passed) return model.card.guard.sentence;
  return model.card.guard?.passed ? "Ready: clearly better than before." : "Not used yet: not clearly better.";
};
