"""Random judgements for the tests of this room."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from likewise.types import Judgement, QueryRef

# Shared machines are slow at times, which is no fault of what is tested.
laws = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

# Names with all that files trip over, and few enough of them to meet each other.
NASTY = ["", " ", "a", "b.jpg", 'q"uo"te', "com,ma", "line\nbreak", "cr\rlf\r\n", "tab\t", "ü 图 🖼"]
NASTY += [
    "bar|bar",
    "\\",
    "\\|",
    "|",
    "C:\\p\\a.jpg",
    "end\\",
    "[1]",
    "\x00",
    "\u2028",
    "\x85",
    "#",
]
NASTY += ["\ufeff", "=1+1", "null", "NaN"]
names = st.one_of(st.sampled_from(NASTY), st.text(max_size=8))
numbers = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def crops(draw: Any) -> tuple[float, float, float, float]:
    share = st.floats(0, 1)
    left, right = sorted(draw(st.tuples(share, share).filter(lambda p: p[0] != p[1])))
    top, bottom = sorted(draw(st.tuples(share, share).filter(lambda p: p[0] != p[1])))
    return left, top, right, bottom


queries = st.builds(
    QueryRef, st.sampled_from(["item", "upload", "text"]), names, st.none() | crops()
)


@st.composite
def judgements(draw: Any) -> Judgement:
    kind = draw(st.sampled_from(["label", "click", "ordering"]))
    return Judgement(
        draw(queries),
        tuple(draw(st.lists(names, min_size=1, max_size=4))),
        kind,
        draw(numbers.map(abs) if kind == "click" else numbers),
        draw(numbers),
        draw(names),
        draw(names),
        draw(st.integers(0, 2**40)),
    )


logs = st.lists(judgements(), max_size=6)
