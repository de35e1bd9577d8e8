"""Laws over everything that is searched: look and objects answer, explain and learn alike."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import likewise
from likewise.collection import Collection, Options
from likewise.collection.search import fused, joined_lists
from likewise.datasets import swatches
from likewise.filters import Filter
from likewise.learners.word_table import WordTable
from likewise.types import BadInput, Hits

LINES = ("look", "objects")
FIRST = "a-0.png"


@pytest.fixture(scope="module", params=["off", "on"], ids=["as they are", "smoothed"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drawn pictures, two of them twice, indexed for both lines; as they are, and smoothed."""
    folder = tmp_path_factory.mktemp("lines") / "pictures"
    (folder / "sub").mkdir(parents=True)
    for at, picture in enumerate(swatches(12, size=128, seed=3).render_all(jobs=1)):
        name = folder / f"{'abc'[at % 3]}-{at}.png"
        Image.fromarray(picture).save(name)
        if at % 4 == 0:
            part = Image.fromarray(picture).crop((8, 8, 120, 120))
            part.save(folder / "sub" / f"part-{at}.png")
        if at < 2:
            shutil.copy(name, folder / f"twin-{at}.png")
    with likewise.open(folder, create=True) as collection:
        collection.index(
            features=("colour", "texture", "words"), processes=1, smoothing=request.param
        )
    return folder


def truth(collection: Collection, line: str, ref: str, similarity=None):
    """Every item and its score by the obvious formula, best first, ties by id."""
    view = collection.lines[line].view()
    similarity = similarity or view.plain
    row = collection.lines[line].query(collection.ref(ref), view)
    scores = np.asarray(similarity.score(row, view.rows(view.ids)), np.float64)
    order = np.lexsort((view.ids, -scores.round(5)))
    return view.ids[order], scores[order]


def hits(collection: Collection, line: str, ref: str, **options):
    answer = collection.search(ref, line=line, **{"k": 99, "pin": False, **options})
    assert len(answer) == len(list(answer)) == len(answer.ids)
    return answer


def agree(collection: Collection, line: str) -> None:
    """What a search gives is what the formula says."""
    ids, scores = truth(collection, line, FIRST)
    keep = ids != collection.item(FIRST).id
    answer = hits(collection, line, FIRST)
    np.testing.assert_allclose(answer.scores, scores[keep], atol=1e-5)
    order = np.lexsort((answer.ids, -answer.scores.round(5)))
    np.testing.assert_array_equal(answer.ids[order], ids[keep])


@pytest.mark.parametrize("line", LINES)
def test_a_complete_index_answers_the_formula(made: Path, line: str) -> None:
    with likewise.open(made) as collection:
        view = collection.lines[line].view()
        assert view.is_complete
        assert not view.degraded
        agree(collection, line)


@pytest.mark.parametrize("line", LINES)
def test_without_an_index_the_answer_is_the_same_and_says_so(folder: Path, line: str) -> None:
    with likewise.open(folder, write=True) as collection:
        before = hits(collection, line, FIRST)
        collection.store.generations.withdraw()
        after = hits(collection, line, FIRST)
        assert after.degraded
        assert after.ids.tolist() == before.ids.tolist()
        np.testing.assert_allclose(after.scores, before.scores, atol=1e-5)
        collection.build()
        assert not hits(collection, line, FIRST).degraded


@pytest.mark.parametrize("line", LINES)
def test_what_came_and_what_went_since_the_index_was_built(
    folder: Path, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with likewise.open(folder, write=True) as collection:
        gone = collection.item("b-4.png").id
        os.remove(folder / "b-4.png")
        fresh = np.asarray(Image.open(folder / "c-5.png"))[4:, 4:]
        Image.fromarray(fresh).save(folder / "new.png")
        Image.open(folder / "a-9.png").rotate(90).save(folder / "a-9.png")  # another content
        monkeypatch.setattr(Collection, "build", lambda self: 0)
        collection.index(processes=1)
        if line == "objects":
            from likewise.collection.lines import visual_words

            visual_words.ensure_words(collection.store)
        view = collection.lines[line].view()
        assert gone not in view.ids
        assert collection.item("new.png").id in view.ids
        assert not view.is_complete
        agree(collection, line)


@pytest.mark.parametrize("line", LINES)
def test_a_damaged_index_is_never_served(folder: Path, line: str) -> None:
    with likewise.open(folder) as collection:
        before = hits(collection, line, FIRST)
        generation = collection.store.generations.current(collection.lines[line].stored)
    for file in sorted(p for p in generation.folder.rglob("*.npy")):
        data = bytearray(file.read_bytes())
        data[-1] ^= 1
        file.write_bytes(bytes(data))
        with likewise.open(folder) as collection:
            after = hits(collection, line, FIRST)
            assert after.degraded, file
            assert after.ids.tolist() == before.ids.tolist(), file
        data[-1] ^= 1
        file.write_bytes(bytes(data))


@pytest.mark.parametrize("line", LINES)
def test_filters_and_ties(made: Path, line: str) -> None:
    with likewise.open(made) as collection:
        inside = hits(collection, line, FIRST, filter=Filter(folder="sub"))
        everything = hits(collection, line, FIRST)
        assert inside.paths == [p for p in everything.paths if p.startswith("sub/")]
        twins = [collection.item(name).id for name in ("b-1.png", "twin-1.png")]
        for few in range(1, len(everything) + 1):
            ids = hits(collection, line, FIRST, k=few).ids.tolist()
            assert ids == everything.ids.tolist()[:few]
        places = [everything.ids.tolist().index(item) for item in twins]
        assert places[1] == places[0] + 1


@pytest.mark.parametrize("line", LINES)
def test_marks_act_at_once_on_their_own_line_only(folder: Path, line: str) -> None:
    other = next(name for name in LINES if name != line)
    with likewise.open(folder, write=True) as collection:
        query = collection.query(FIRST, line=line)
        before, beside = collection.ask(query, k=99), hits(collection, other, FIRST)
        last = before.ids[-1]
        records = collection.teaching.mark(query, [int(last)])
        after = collection.ask(query, k=99)
        assert after.marks == 1
        assert after.ids.tolist().index(last) < before.ids.tolist().index(last)
        assert hits(collection, other, FIRST).ids.tolist() == beside.ids.tolist()
        collection.teaching.mark(query, [int(after.ids[5])], False)
        again = collection.ask(query, k=99)
        place = again.ids.tolist().index(after.ids[5])
        assert place >= 5
        assert again.scores[place] < after.scores[5]
        assert collection.ask(query, k=99, marks=False).ids.tolist() == before.ids.tolist()
        collection.teaching.undo()
        collection.teaching.undo(records[0])
        assert collection.ask(query, k=99).ids.tolist() == before.ids.tolist()


def queries(collection: Collection, line: str):
    """One query of every kind that a line can be asked."""
    yield collection.query(FIRST, line=line)
    yield collection.query([FIRST, "b-1.png"], without=["c-2.png"], weights=[1, 2], line=line)
    yield collection.query(FIRST, crop=(0.1, 0.1, 0.8, 0.8), line=line)
    yield collection.query((collection.folder / "b-1.png").read_bytes(), line=line)
    if line == "look":
        yield collection.query(text="part")
        yield collection.query(FIRST, "part")
        view = collection.look.view()
        yield collection.query(vector=view.rows(view.ids[:1])[0])


def sums_up(collection: Collection, query, result) -> dict:
    """What why tells of a result; its parts, its blocks and its lists give the score."""
    told = collection.why(query, result.item, Options(k=6))
    if told["lists"]:
        fused = sum(1 / (60 + p["place"]) for p in told["lists"].values())
        assert result.score == pytest.approx(fused, abs=1e-9)
        assert told["fused"] == pytest.approx(fused)
    if "score" not in told:
        assert result.found_by == ("words",)
        return told
    for by in ("parts", "blocks"):
        total = sum(told[by].values()) + told["side"] + told["offset"]
        assert total == pytest.approx(told["score"], rel=1e-5, abs=1e-5)
    if not told["lists"]:
        assert told["score"] == pytest.approx(result.score, rel=1e-5, abs=1e-5)
    return told


@pytest.mark.parametrize("line", LINES)
def test_the_parts_that_why_tells_sum_to_the_score(folder: Path, line: str) -> None:
    method = {"look": "bilinear", "objects": "word-table"}[line]
    with likewise.open(folder, write=True) as collection:
        seen: set[str] = set()
        for state in ("plain", "marked", "learned"):
            if state == "marked":
                for item, wrong in ((FIRST, "c-2.png"), ("b-4.png", "a-3.png")):
                    collection.mark(item, ["b-1.png", "twin-1.png"], line=line)
                    collection.mark(item, [wrong], False, line=line)
            if state == "learned":
                collection.learn(method, force=True)
            for query in queries(collection, line):
                for result in collection.ask(query, k=6):
                    seen |= set(sums_up(collection, query, result)["parts"])
        words = {"text"} if line == "look" else set()  # files are called so: own words
        assert seen == {"picture", "taught", "marks"} | words


@pytest.mark.parametrize("engine", ["flat", "faiss", "tree"])
def test_every_engine_serves_a_collection(folder: Path, engine: str) -> None:
    with likewise.open(folder, write=True) as collection:
        query = collection.query(FIRST)
        collection.teaching.mark(query, ["c-2.png"])
        before = collection.ask(query, k=99)
        collection.index(processes=1, engine=engine)
        served = collection.store.generations.current()
        assert served.kind == engine
        after = collection.ask(query, k=99)
        assert after.generation == served.number
        assert not after.degraded
        np.testing.assert_allclose(after.scores, before.scores, atol=1e-5)
        assert dict(zip(after.ids, after.scores.round(4))) == pytest.approx(
            dict(zip(before.ids, before.scores.round(4))), abs=2e-4
        )
        collection.index(processes=1)
        assert collection.store.generations.current() == served
        with pytest.raises(BadInput, match="engine"):
            collection.index(engine="quantum")


def test_side_columns_belong_to_the_similarity_that_asks(folder: Path) -> None:
    rng = np.random.default_rng(0)
    with likewise.open(folder, write=True) as collection:
        line, view = collection.objects, collection.objects.view()
        for _ in range(3):  # each has its own prior, so its own columns
            table = WordTable(view.plain.space, rng.normal(size=(4, 4)))
            ids, scores = truth(collection, "objects", FIRST, table)
            surrogate = table.surrogate(line.query(collection.ref(FIRST), view))
            assert surrogate.side
            found = view.search(surrogate, 99, table)
            np.testing.assert_allclose(found.scores, scores, atol=1e-5)
            order = np.lexsort((found.ids, -found.scores.round(5)))
            np.testing.assert_array_equal(found.ids[order], ids)


def test_a_line_that_is_not_there_is_refused(made: Path) -> None:
    with likewise.open(made) as collection:
        with pytest.raises(BadInput, match="look or objects"):
            collection.search(FIRST, line="smell")
        with pytest.raises(BadInput, match="no option 'limit'"):
            collection.search(FIRST, limit=3)


def test_one_list_is_measured_by_its_places_and_shown_with_its_scores() -> None:
    """Equal scores keep their order where a reader is measured: as it would be served."""
    one = {"words": Hits(np.array([4, 2, 9]), np.array([1.0, 1.0, 1.0]))}
    assert fused(one, 9)[0].scores.tolist() == [1 / 61, 1 / 62, 1 / 63]
    assert joined_lists(one, 2)[0].scores.tolist() == [1.0, 1.0]
