"""Swatches: the same under a seed, balanced, truly described, and written without leaks."""

from __future__ import annotations

import csv
import doctest
import hashlib
import json
import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from likewise.datasets.swatch_art import SCALES, TEXTURES, Design, draw
from likewise.datasets.swatch_motifs import MOTIFS
from likewise.datasets.swatch_palettes import COLOURS, GROUNDS, palette, suited_grounds, to_srgb
from likewise.datasets.swatch_truth import CHANGES, apply_change
from likewise.datasets.swatch_words import SYNONYMS
from likewise.datasets.swatches import CAPTION_FILE, RECIPE_FILE, SwatchSet, swatches
from likewise.types import BadInput, DataProblem

DIGEST = """
import hashlib
from likewise.datasets.swatches import swatches
s = swatches(12, size=48, seed={seed})
print(hashlib.sha256(b"".join(p.tobytes() for p in s) + repr(s.captions).encode()).hexdigest())
"""


def read_caption(text: str) -> dict[str, str]:
    """What a caption says, in the names of the truth: ``{"motif": ..., "colour": ..., ...}``."""
    found: dict[str, str] = {}
    for aspect, names in SYNONYMS.items():
        for name, others in names.items():
            words = "|".join(re.escape(word) for word in (name, *others))
            if re.search(rf"\b(?:{words})\b", text):
                found[aspect] = name
    return found


def digest(collection: SwatchSet) -> str:
    data = b"".join(picture.tobytes() for picture in collection)
    return hashlib.sha256(data + repr(collection.captions).encode()).hexdigest()


@pytest.fixture(scope="module")
def collection() -> SwatchSet:
    return swatches(600, size=48, seed=3, duplicates=0.2)


@pytest.mark.parametrize("seed", [0, 11])
def test_two_processes_draw_the_same_bytes(seed: int) -> None:
    code = [sys.executable, "-c", DIGEST.format(seed=seed)]
    elsewhere = subprocess.run(code, capture_output=True, text=True, check=True).stdout.strip()
    assert elsewhere == digest(swatches(12, size=48, seed=seed))


def test_another_seed_draws_other_pictures() -> None:
    assert digest(swatches(12, size=48, seed=0)) != digest(swatches(12, size=48, seed=1))


def test_pictures_do_not_depend_on_the_order_of_asking(collection: SwatchSet) -> None:
    last = collection.render(599)
    assert np.array_equal(collection.render(0), swatches(600, 48, 3, duplicates=0.2)[0])
    assert np.array_equal(last, collection[599])


@given(
    motif=st.sampled_from(sorted(MOTIFS)),
    colour=st.sampled_from(sorted(COLOURS)),
    scale=st.sampled_from(sorted(SCALES)),
    texture=st.sampled_from(sorted(TEXTURES)),
    aspect=st.sampled_from([2 / 3, 1.0, 4 / 3]),
    number=st.integers(0, 10**6),
)
@settings(max_examples=60, deadline=None)
def test_every_design_is_a_picture_with_motif_and_ground(
    motif: str, colour: str, scale: str, texture: str, aspect: float, number: int
) -> None:
    ground = suited_grounds(colour)[number % len(suited_grounds(colour))]
    picture = draw(Design(motif, colour, ground, scale, texture, aspect, number), 96, 5)
    assert picture.dtype == np.uint8
    assert picture.shape[2] == 3
    assert max(picture.shape[:2]) == 96
    assert picture.shape[1] / picture.shape[0] == pytest.approx(aspect, rel=0.02)
    # Something is drawn, and it does not drown the ground.
    assert picture.reshape(-1, 3).std(axis=0).max() > 6


@pytest.mark.parametrize("colour", sorted(COLOURS))
def test_a_tone_is_nearest_to_its_own_colour_name(colour: str) -> None:
    rng = np.random.default_rng(0)
    centres = {
        name: np.mean(
            [palette(name, "white", np.random.default_rng(k)).tones[0] for k in range(20)], axis=0
        )
        for name in COLOURS
    }
    for _ in range(20):
        tone = palette(colour, "white", rng).tones[0]
        away = {
            name: np.abs(to_srgb(tone) - to_srgb(c).astype(float)).sum()
            for name, c in centres.items()
        }
        assert min(away, key=away.__getitem__) == colour


def test_grounds_can_be_told_from_every_tone_on_them() -> None:
    for colour in COLOURS:
        assert len(suited_grounds(colour)) >= 3
        for ground in suited_grounds(colour):
            colours = palette(colour, ground, np.random.default_rng(1))
            away = np.abs(to_srgb(colours.tones[0]).astype(int) - to_srgb(colours.ground)).max()
            assert away > 40, (colour, ground)


def test_truth_is_rich_and_balanced(collection: SwatchSet) -> None:
    truth = collection.truth
    assert len(MOTIFS) >= 12
    assert len(COLOURS) >= 10
    assert set(truth["ground"]) <= set(GROUNDS)
    originals = truth["change"] == "none"
    for column, names in (
        ("motif", MOTIFS),
        ("colour", COLOURS),
        ("scale", SCALES),
        ("texture", TEXTURES),
    ):
        counts = Counter(truth[column][originals].tolist())
        assert set(counts) == set(names)
        mean = originals.sum() / len(names)
        assert all(abs(count - mean) <= max(1.0, 0.25 * mean) for count in counts.values())
    # Motif and colour tell nothing of each other.
    pairs = Counter(zip(truth["motif"][originals].tolist(), truth["colour"][originals].tolist()))
    assert len(pairs) == len(MOTIFS) * len(COLOURS)
    assert max(pairs.values()) - min(pairs.values()) <= 1


def test_shapes_vary(collection: SwatchSet) -> None:
    aspects = np.array([item.design.aspect for item in collection.items])
    assert 0.5 < np.mean(aspects == 1) < 0.8
    assert (aspects < 1).any()
    assert (aspects > 1).any()


def test_the_share_of_near_duplicates_is_the_one_asked_for(collection: SwatchSet) -> None:
    truth = collection.truth
    assert (truth["change"] != "none").sum() == 120
    assert set(truth["change"]) == {"none", *CHANGES}
    for group in np.unique(truth["group"]):
        assert (truth["change"][truth["group"] == group] == "none").sum() == 1
    assert np.bincount(truth["group"]).max() <= 4
    assert len(np.unique(swatches(50, duplicates=0).truth["group"])) == 50


def test_near_duplicates_are_closer_in_pixels_than_others(collection: SwatchSet) -> None:
    def thumbnail(i: int) -> np.ndarray:
        image = Image.fromarray(collection.render(i)).resize((6, 6), Image.Resampling.BOX)
        return np.asarray(image, dtype=float).ravel()

    small = np.stack([thumbnail(i) for i in range(len(collection))])
    truth, ranks = collection.truth, []
    for i in np.flatnonzero(truth["change"] != "none"):
        away = np.linalg.norm(small - small[i], axis=1)
        kin = (truth["group"] == truth["group"][i]) & (np.arange(len(small)) != i)
        others = truth["group"] != truth["group"][i]
        ranks.append(np.mean(away[others] < away[kin].min()))
    assert np.median(ranks) < 0.005
    assert np.mean(ranks) < 0.05


def test_changes_are_what_they_are_called(collection: SwatchSet) -> None:
    for kind in CHANGES:
        i = int(np.flatnonzero(collection.truth["change"] == kind)[0])
        item = collection.items[i]
        original = draw(item.design, 48, collection.seed)
        before = original.copy()
        changed = apply_change(original, item.change)
        assert np.array_equal(original, before)
        assert np.array_equal(changed, collection.render(i))
        assert changed.shape == original.shape
        assert not np.array_equal(changed, original)
        if kind == "light":  # brighter stays brighter
            order = np.argsort(original[..., 1].ravel(), kind="stable")
            assert np.all(np.diff(changed[..., 1].ravel()[order].astype(int)) >= 0)


def test_a_rotated_copy_shows_nothing_from_outside() -> None:
    white = np.full((60, 90, 3), 255, dtype=np.uint8)
    for item in swatches(200, size=16, duplicates=0.5).items:
        assert apply_change(white, item.change).min() >= (
            255 if item.change.kind == "rotation" else 0
        )


def test_captions_say_the_truth(collection: SwatchSet) -> None:
    captioned = [i for i, text in enumerate(collection.captions) if text]
    assert len(captioned) == round(0.7 * len(collection))
    for i in captioned:
        said = read_caption(collection.captions[i])
        assert said == {aspect: str(collection.truth[aspect][i]) for aspect in SYNONYMS}


def test_some_captions_use_other_words_and_none_when_told_so() -> None:
    plain = swatches(80, size=16, synonyms=0, captioned=1)
    names = {name for aspect in SYNONYMS.values() for name in aspect}
    fill = {"a", "swatch", "with", "on"}
    assert {w for text in plain.captions for w in text.replace(",", "").split()} <= names | fill
    varied = swatches(80, size=16, synonyms=1, captioned=1)
    assert any("scarlet" in text or "crimson" in text for text in varied.captions)


def test_every_word_means_one_thing() -> None:
    words = [w for names in SYNONYMS.values() for n, others in names.items() for w in (n, *others)]
    assert len(words) == len(set(words))


def test_write_keeps_captions_beside_pictures_and_truth_out_of_names(tmp_path) -> None:
    small = swatches(20, size=32, seed=2)
    seen: list[tuple[int, int]] = []
    folder = small.write(
        tmp_path / "swatches", lambda done, all_: seen.append((done, all_)), jobs=1
    )
    assert seen == [(i, 20) for i in range(1, 21)]
    files = sorted(path.name for path in folder.iterdir())
    assert files == sorted([CAPTION_FILE, RECIPE_FILE, *small.names])
    with (folder / CAPTION_FILE).open(encoding="utf-8", newline="") as file:
        rows = {row["file"]: row for row in csv.DictReader(file)}
    assert list(rows) == [n for n, text in zip(small.names, small.captions) if text]
    assert all(rows[n]["caption"] == t for n, t in zip(small.names, small.captions) if t)
    assert all(rows[n]["tags"] == "|".join(t) for n, t in zip(small.names, small.tags) if t)
    with Image.open(folder / small.names[4]) as image:
        stored = np.asarray(image.convert("RGB"), dtype=float)
    assert stored.shape == small.render(4).shape
    assert np.abs(stored - small.render(4)).mean() < 12


def test_write_on_several_cores_gives_the_same_files_and_resumes(tmp_path) -> None:
    small = swatches(20, size=32, seed=2)
    one = small.write(tmp_path / "one", jobs=1)
    two = small.write(tmp_path / "two", jobs=2)
    assert all((one / n).read_bytes() == (two / n).read_bytes() for n in small.names)
    kept = (one / small.names[0]).stat().st_mtime_ns
    (one / small.names[7]).unlink()
    done: list[int] = []
    small.write(one, lambda count, _: done.append(count), jobs=1)
    assert done == [20]
    assert (one / small.names[7]).read_bytes() == (two / small.names[7]).read_bytes()
    assert (one / small.names[0]).stat().st_mtime_ns == kept


def test_write_refuses_a_folder_that_holds_something_else(tmp_path) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"mine")
    with pytest.raises(BadInput, match="already holds other files"):
        swatches(3, size=16).write(tmp_path, jobs=1)
    assert (tmp_path / "holiday.jpg").read_bytes() == b"mine"
    assert [path.name for path in tmp_path.iterdir()] == ["holiday.jpg"]
    folder = swatches(3, size=16).write(tmp_path / "mine", jobs=1)
    with pytest.raises(BadInput, match="another recipe"):
        swatches(3, size=16, seed=1).write(folder, jobs=1)
    (folder / RECIPE_FILE).write_text("{", encoding="utf-8")
    with pytest.raises(DataProblem, match="damaged"):
        swatches(3, size=16).write(folder, jobs=1)


def test_recipe_says_how_to_make_the_folder_again(tmp_path) -> None:
    folder = swatches(6, size=16, seed=9).write(tmp_path / "s", jobs=1)
    recipe = json.loads((folder / RECIPE_FILE).read_text("utf-8"))
    assert (recipe["swatches"], recipe["size"], recipe["seed"]) == (6, 16, 9)


@pytest.mark.parametrize(
    "arguments",
    [
        {"n": 0},
        {"n": 5, "size": 2},
        {"n": 5, "seed": -1},
        {"n": 5, "duplicates": 0.7},
        {"n": 5, "captioned": 1.5},
        {"n": 5, "synonyms": float("nan")},
    ],
)
def test_bad_wishes_are_refused(arguments) -> None:
    with pytest.raises(BadInput):
        swatches(**arguments)


def test_one_swatch_is_a_collection_too() -> None:
    assert len(swatches(1, size=16, captioned=0).captions) == 1
    assert swatches(1, size=16, captioned=0).tags == ((),)


def test_the_example_in_the_docs_string_is_true() -> None:
    module = sys.modules["likewise.datasets.swatches"]
    assert doctest.testmod(module) == (0, 3)


def test_all_pictures_at_once_are_the_same_pictures() -> None:
    small = swatches(5, size=24)
    assert all(np.array_equal(a, b) for a, b in zip(small.render_all(jobs=1), small))


def test_a_few_pictures_first_and_the_rest_later(tmp_path):
    drawn = swatches(6, size=16, seed=9)
    whole = drawn.write(tmp_path / "whole", jobs=1)
    seen: list[tuple[int, int]] = []
    parts = drawn.write(
        tmp_path / "parts", lambda n, total: seen.append((n, total)), jobs=1, first=2
    )
    assert sum(1 for _ in parts.rglob("*.png")) + sum(1 for _ in parts.rglob("*.jpg")) == 2
    assert seen[-1] == (2, 6)
    drawn.write(parts, jobs=1)
    files = sorted(p.relative_to(whole) for p in whole.rglob("*") if p.is_file())
    assert all((parts / f).read_bytes() == (whole / f).read_bytes() for f in files)
