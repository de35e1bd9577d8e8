"""What goes in and out over HTTP, and how a request becomes a query."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from likewise.collection import (
    Answer,
    Collection,
    Example,
    Filter,
    Item,
    Options,
    Query,
    as_key,
    printable,
)
from likewise.collection.options import normal_text
from likewise.types import BadInput, QueryRef

MOST = 1000
"""Results of one search, items of one request."""
BIGGEST = 2**53 - 1
"""The largest whole number that every JSON reader keeps exactly."""


def _whole_text(text: str) -> str:
    """Text without zero characters and without halves of surrogate pairs."""
    if "\0" in text or any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        raise ValueError("the text holds characters that cannot be stored; leave them out")
    return text


ItemId = Annotated[int, Field(ge=1, le=BIGGEST)]
Count = Annotated[int, Field(ge=1, le=MOST)]
Line = Annotated[str, StringConstraints(max_length=200), AfterValidator(_whole_text)]
Words = Annotated[str, StringConstraints(max_length=2000), AfterValidator(_whole_text)]
Tag = Annotated[
    str,
    StringConstraints(min_length=1, max_length=100, pattern=r"\S"),
    AfterValidator(_whole_text),
]
OfferName = Annotated[
    str, StringConstraints(min_length=6, max_length=2100), AfterValidator(_whole_text)
]
Share = Annotated[float, Field(ge=0, le=1)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
ModelName = Annotated[str, StringConstraints(pattern=r"^(plain|[1-9][0-9]{0,8})$")]
ItemList = Annotated[list[ItemId], Field(min_length=1, max_length=10_000)]


class Strict(BaseModel):
    """Requests: a misspelt field is an error, and numbers are finite."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class ExampleIn(Strict):
    """One picture of a query: an item or an upload, a part of it, and how much it counts."""

    item: ItemId | None = None
    upload: Sha256 | None = None
    weight: Annotated[float, Field(ge=-100, le=100)] = 1.0
    crop: tuple[Share, Share, Share, Share] | None = Field(
        None, description="left, top, right, bottom as shares of width and height"
    )


class QueryIn(Strict):
    """What is asked: pictures (wanted with a positive weight), words, or both."""

    examples: Annotated[list[ExampleIn], Field(max_length=50)] = []
    text: Words = ""
    line: Literal["look", "objects"] = Field(
        "look", description="objects: find the same object, not the same look"
    )

    def query(self, collection: Collection) -> Query:
        """The collection's query."""
        examples = tuple(Example(_ref(collection, e), e.weight) for e in self.examples)
        return Query(examples, normal_text(self.text), line=self.line)


def _ref(collection: Collection, example: ExampleIn) -> QueryRef:
    if (example.item is None) == (example.upload is None):
        raise BadInput("An example is either an item or an upload; give one of the two.")
    if example.item is not None:
        return collection.pictures.locate(example.item, example.crop)
    assert example.upload is not None
    return QueryRef("upload", example.upload, example.crop)


class FilterIn(Strict):
    """Which items a search may give; what is not set lets all through."""

    folder: Line | None = None
    tags: Annotated[list[Tag], Field(max_length=20)] = []
    without_tags: Annotated[list[Tag], Field(max_length=20)] = []
    since: Annotated[str, StringConstraints(pattern=r"^[0-9T: -]{4,19}$")] | None = None
    until: Annotated[str, StringConstraints(pattern=r"^[0-9T: -]{4,19}$")] | None = None
    formats: Annotated[list[Tag], Field(max_length=20)] = []
    min_pixels: Annotated[int, Field(ge=0, le=BIGGEST)] | None = None
    max_pixels: Annotated[int, Field(ge=0, le=BIGGEST)] | None = None

    def filter(self) -> Filter:
        """The store's filter."""
        values = self.model_dump()
        for name in ("tags", "without_tags", "formats"):
            values[name] = tuple(values[name])
        return Filter(**{**values, "folder": values["folder"] or None})


class OptionsIn(QueryIn):
    """A query and how it is to be answered."""

    k: Count = 20
    model: ModelName | None = Field(None, description="a number, plain, or the active one")
    filter: FilterIn = Field(default_factory=FilterIn)
    marks: bool = Field(True, description="let marks on this very query shape the answer")
    use: Annotated[tuple[OfferName, ...], Field(max_length=10)] = Field(
        (), description="names of offers: taught queries whose marks are used too"
    )
    fold: bool = Field(False, description="fold near-duplicates into one result")
    pin: bool = Field(False, description="items that are the query come first")
    compact: bool = Field(False, description="search words over a small index, kept in memory")
    check: Annotated[int, Field(ge=0, le=200)] = Field(
        0, description="first results of the line objects that get a geometric check"
    )

    def options(self) -> Options:
        """The collection's options."""
        return Options(
            **{f.name: getattr(self, f.name) for f in fields(Options) if f.name != "filter"},
            filter=self.filter.filter(),
        )


class SearchIn(OptionsIn):
    """A search."""

    generation: Annotated[int, Field(ge=0, le=BIGGEST)] | None = Field(
        None, description="refuse to answer from another index generation than this one"
    )


class ItemOut(BaseModel):
    """An item in a list."""

    item: int
    name: str
    path: str
    state: str
    thumbnail: str | None
    picture: str | None
    width: int | None
    height: int | None
    taken: str | None


class ResultOut(ItemOut):
    """An item that a search found; ``mark`` is what was said of it for this query."""

    score: float
    found_by: list[str]
    copies: list[int]
    mark: float | None
    inliers: int | None = Field(
        None, description="places that agree with the query on one view change"
    )


class MarkOut(ItemOut):
    """What was said of an item for this query; undoing ``records`` takes it back."""

    value: float
    records: list[int]


class OfferOut(BaseModel):
    """Earlier teaching that is used, or that could be: ``name`` is what ``use`` takes."""

    name: str
    kind: Literal["item", "upload", "text", "session"]
    item: int | None
    upload: str
    text: str
    right: int
    wrong: int
    likeness: float = Field(description="how near this query stands to it")
    used: bool


class AnswerOut(BaseModel):
    """Results, best first, and what the answer rests on."""

    results: list[ResultOut]
    model: str
    reader: str = Field(description="what read the text; empty for full text alone")
    generation: int
    degraded: str = Field(description="one sentence where the answer is not what it should be")
    marks: int = Field(description="marks of this very query that shaped the answer")
    seconds: float
    notes: list[str]
    offers: list[OfferOut] = Field(description="used ones, and at most three that may fit")
    feedback: list[MarkOut] = Field(description="all that was said for this query, oldest first")


class Made(BaseModel):
    """Numbers of the records that were written."""

    records: list[int]


class Undone(BaseModel):
    """The undo is a record too: undoing it brings the judgement back."""

    record: int
    undo: int


class JobOut(BaseModel):
    """Long work: its state, how far it is, and one sentence."""

    id: int
    kind: str
    state: Literal["queued", "running", "paused", "done", "failed", "cancelled"]
    wanted: str
    done: int
    total: int
    rate: float
    seconds_left: float | None
    message: str
    model: int | None
    created: float
    updated: float


class ModelOut(BaseModel):
    """A learned model and its card."""

    id: int
    name: str
    task: str = Field(description="look or objects: it ranks them; text: it reads text queries")
    active: bool
    made: float
    space: str
    card: dict[str, Any]


def item_out(item: Item) -> dict[str, Any]:
    """An item as JSON values; names that are no Unicode are shown with escapes."""
    shown = item.sha256 and item.state not in ("removed", "problem", "seen")
    return {
        "item": item.id,
        "name": item.name,
        "path": printable(item.path),
        "state": item.state,
        "thumbnail": f"/api/v1/thumbnails/{item.sha256}" if shown else None,
        "picture": f"/api/v1/pictures/{item.sha256}" if shown else None,
        "width": item.width,
        "height": item.height,
        "taken": item.taken,
    }


def answer_out(collection: Collection, query: Query, answer: Answer) -> dict[str, Any]:
    """An answer as JSON values, with what was said before of each result."""
    marks, records = collection.teaching.marks(query), collection.teaching.records(query)
    facts = {i.id: i for i in collection.items.many({*(r.item for r in answer.results), *marks})}
    results = [
        {
            **item_out(facts[r.item]),
            "score": float(r.score),
            "found_by": list(r.found_by),
            "copies": list(r.copies),
            "mark": marks.get(r.item),
            "inliers": r.inliers,
        }
        for r in answer.results
        if r.item in facts
    ]
    return {
        "results": results,
        "model": answer.model,
        "reader": answer.reader,
        "generation": answer.generation,
        "degraded": answer.degraded,
        "marks": answer.marks,
        "seconds": answer.seconds,
        "notes": list(answer.notes),
        "offers": [asdict(offer) for offer in answer.offers],
        "feedback": [
            {**item_out(facts[item]), "value": value, "records": records.get(item, [])}
            for item, value in marks.items()
            if item in facts
        ],
    }


def shown_query(collection: Collection, ref: QueryRef) -> dict[str, Any]:
    """A judgement's query as JSON values: an item by its number, an upload by its hash."""
    out: dict[str, Any] = {"kind": ref.kind, "crop": ref.crop, "text": "", "item": None}
    if ref.kind == "text":
        out["text"] = ref.value
    elif ref.kind == "upload":
        out["upload"] = ref.value
    else:
        key = as_key(ref.value)
        out["item"] = collection.items.ids([key]).get(key)
    return out
