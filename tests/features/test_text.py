"""Texts in any language become sparse rows, and odd ones have a defined answer."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.features.text import MAX_LENGTH, STOP_WORDS, TextVocabulary, split_words
from likewise.types import BadInput, DataProblem

TEXTS = ["red stripes on white", "a red dot", "Blue STRIPES", "two dogs' dog, running", ""]


def test_words_are_counted_and_stemmed():
    vocabulary = TextVocabulary.fit(TEXTS, unit=False)
    rows = vocabulary.transform(["the dogs and a dog", "stripe stripes striped"])
    column = {word: i for i, word in enumerate(vocabulary.words)}
    assert rows[0, column["dog"]] == 2
    assert rows[1, column["stripe"]] == 3
    assert rows.nnz == 2
    assert not set(vocabulary.words) & STOP_WORDS


def test_the_most_frequent_words_are_kept_and_ties_follow_the_alphabet():
    texts = ["b c", "b c", "a z", "z"]
    assert TextVocabulary.fit(texts, language="", stop_words=()).words == ("b", "c", "z", "a")
    assert TextVocabulary.fit(texts, language="", stop_words=(), size=2).words == ("b", "c")
    assert TextVocabulary.fit(texts, language="", stop_words=(), minimum=2).words == ("b", "c", "z")


def test_unit_rows_have_unit_length_and_a_text_without_words_is_empty():
    rows = TextVocabulary.fit(TEXTS).transform([*TEXTS, "the of and", "xylophone"])
    lengths = np.sqrt(rows.multiply(rows).sum(axis=1))
    assert np.allclose(lengths, [1, 1, 1, 1, 0, 0, 0])


def test_reading_says_what_was_understood():
    read = TextVocabulary.fit(TEXTS).read("The red xylophones, the red dot")
    assert read.known == ("red", "dot")
    assert read.unknown == ("xylophon",)
    assert read.stopped == ("the",)
    assert read.row.nnz == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("東京の夜", ["東京", "京の", "の夜"]),
        ("犬", ["犬"]),
        ("red東京dog", ["red", "東京", "dog"]),
        ("लाल गेंद", ["लाल", "गेंद"]),
        ("Straße ÉTÉ l'eau", ["strasse", "été", "l", "eau"]),
        ("ｆｕｌｌ ① ﬁne", ["full", "1", "fine"]),
        ("dog’s ball's", ["dog", "ball"]),
        ("\udcff red\x00dog\u200b", ["red", "dog"]),
        (b"red \xff\xfe dog", ["red", "dog"]),
        ("🐶 !!! …", []),
        ("x" * 5000, ["x" * MAX_LENGTH]),
    ],
)
def test_other_scripts_and_broken_text_are_cut_into_words(text, words):
    assert split_words(text) == words


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(st.text() | st.binary(), max_size=5))
def test_any_text_can_be_read(texts):
    vocabulary = TextVocabulary.fit(texts)
    rows = vocabulary.transform(texts)
    assert rows.shape == (len(texts), vocabulary.dim)
    assert rows.nnz == 0 or rows.data.min() > 0
    again = TextVocabulary.from_arrays(*vocabulary.to_arrays())
    assert again.words == vocabulary.words
    assert again.fingerprint == vocabulary.fingerprint
    assert (again.transform(texts) != rows).nnz == 0


def test_ten_thousand_words_are_one_row():
    vocabulary = TextVocabulary.fit(TEXTS)
    assert vocabulary.transform(["red dog " * 5_000]).nnz == 2


def test_the_fingerprint_knows_words_and_settings():
    base = TextVocabulary.fit(TEXTS)
    others = [
        TextVocabulary.fit(TEXTS[:2]),
        TextVocabulary.fit(TEXTS, unit=False),
        TextVocabulary(base.words, language="porter"),
        TextVocabulary(base.words, stop_words=()),
    ]
    assert len({v.fingerprint for v in [base, *others]}) == 5
    assert base.fingerprint == TextVocabulary.fit(TEXTS).fingerprint


def test_stored_arrays_are_plain_and_damage_is_noticed():
    arrays, settings_ = TextVocabulary.fit(TEXTS).to_arrays()
    assert all(a.dtype != object for a in arrays.values())
    with pytest.raises(DataProblem, match="learn from the clicks again"):
        TextVocabulary.from_arrays({"words": arrays["words"][:4]}, settings_)


def test_threads_read_alike():
    vocabulary = TextVocabulary.fit(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda _: vocabulary.transform(TEXTS * 50), range(8)))
    assert all((row != rows[0]).nnz == 0 for row in rows)


def test_languages():
    french = TextVocabulary.fit(["les chiens courent", "chien"], language="french")
    assert french.words[0] == "chien"
    with pytest.raises(BadInput, match="no stemmer for 'klingon'"):
        TextVocabulary((), language="klingon")


@pytest.mark.parametrize("wrong", [{"size": 0}, {"minimum": 0}])
def test_bad_settings_are_refused(wrong):
    with pytest.raises(BadInput, match="at least 1"):
        TextVocabulary.fit(TEXTS, **wrong)


def test_bad_texts_are_refused():
    with pytest.raises(BadInput, match="must be a string, not int"):
        split_words(5)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="repeats some"):
        TextVocabulary(["a", "a"])


def test_a_run_in_another_process_gives_the_same_words():
    code = (
        "from likewise.features.text import TextVocabulary as V;"
        f"print(V.fit({TEXTS!r}).fingerprint)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == TextVocabulary.fit(TEXTS).fingerprint
