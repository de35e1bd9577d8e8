"""Items, their pictures, tags, selections, and the files that could not be read."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from likewise.collection import Filter, Item, printable
from likewise.server.errors import refusals
from likewise.server.schemas import (
    BIGGEST,
    FilterIn,
    ItemList,
    ItemOut,
    Line,
    Strict,
    Tag,
    item_out,
)
from likewise.server.served import Here, Key
from likewise.types import BadInput, NotFound

router = APIRouter(tags=["items"], responses=refusals())
Id = Annotated[int, Path(ge=1, le=BIGGEST)]
Limit = Annotated[int, Query(ge=1, le=500)]
Cursor = Annotated[int, Query(ge=0, le=BIGGEST, description="the ``next`` of the page before")]
Hash = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]
FOR_EVER = {"Cache-Control": "private, max-age=31536000, immutable"}
JPEG: dict[int | str, dict[str, Any]] = {200: {"content": {"image/jpeg": {}}}}


class Page(BaseModel):
    """Some items; ``next`` is the cursor of the page after, null on the last one."""

    items: list[ItemOut]
    next: int | None


class ProblemItem(ItemOut):
    """A file that could not be read, with the one reason."""

    reason: str


class ProblemPage(BaseModel):
    """Some unreadable files."""

    items: list[ProblemItem]
    next: int | None


@router.get("/items", response_model=Page)
def items(
    here: Here,
    cursor: Cursor = 0,
    limit: Limit = 100,
    folder: Annotated[Line, Query()] = "",
    tag: Annotated[list[Tag] | None, Query(max_length=20)] = None,
    state: Literal["seen", "decoded", "embedded", "indexed", "problem", "removed"] | None = None,
) -> dict[str, Any]:
    """List items by number, some at a time."""
    wanted = Filter(folder=folder or None, tags=tuple(tag or ()), states=(state,) if state else ())
    found = here.collection.items.page(wanted, limit + 1, cursor)
    shown = found[:limit]
    more = len(found) > limit
    return {"items": [item_out(i) for i in shown], "next": shown[-1].id if more else None}


class TextOut(BaseModel):
    """A tag or caption and who said so."""

    text: str
    source: str


class ItemDetail(ItemOut):
    """All that is known of an item."""

    format: str | None
    camera: str | None
    bytes: int
    reason: str
    tags: list[TextOut]
    captions: list[TextOut]
    metadata: dict[str, Any]
    companions: list[str]


@router.get("/items/{item}", response_model=ItemDetail)
def item(item: Id, here: Here) -> dict[str, Any]:
    """Everything about one item."""
    texts, found = here.collection.texts, here.collection.items.get(item)
    return {
        **item_out(found),
        "format": found.format,
        "camera": found.camera,
        "bytes": found.size,
        "reason": found.reason,
        "tags": [{"text": t.text, "source": t.source} for t in texts.tags(item)],
        "captions": [{"text": t.text, "source": t.source} for t in texts.captions(item)],
        "metadata": texts.metadata(item),
        "companions": here.collection.companions(item),
    }


@router.get("/thumbnails/{sha256}", response_class=Response, responses=JPEG)
def thumbnail(sha256: Hash, here: Here) -> Response:
    """A small JPEG by the hash of what it shows; it never changes."""
    return Response(here.pictures.small(sha256), headers=FOR_EVER, media_type="image/jpeg")


@router.get("/pictures/{sha256}", response_class=Response, responses=JPEG)
def picture(sha256: Hash, here: Here) -> Response:
    """A larger JPEG, written anew without metadata."""
    return Response(here.pictures.large(sha256), headers=FOR_EVER, media_type="image/jpeg")


@router.get("/representatives", response_model=Page)
def representatives(here: Here, count: Annotated[int, Query(ge=1, le=100)] = 24) -> dict[str, Any]:
    """Items that stand for the whole collection."""
    found = here.collection.items.many(here.representatives(count))
    return {"items": [item_out(i) for i in found], "next": None}


@router.get("/arrivals", response_model=Page)
def arrivals(here: Here, count: Annotated[int, Query(ge=1, le=100)] = 24) -> dict[str, Any]:
    """Items that were read last, the newest first; also before the first can be found."""
    view, every = here.collection.look.view(checked=False), here.collection.items
    found = every.many(view.ids[-count:][::-1]) if len(view) else every.latest(count)
    return {"items": [item_out(i) for i in found], "next": None}


@router.get("/problems", response_model=ProblemPage)
def problems(here: Here, cursor: Cursor = 0, limit: Limit = 100) -> dict[str, Any]:
    """Files that could not be read, each with one reason."""
    found = here.collection.items.problems(limit + 1, cursor)
    shown = found[:limit]
    return {
        "items": [{**item_out(i), "reason": i.reason} for i in shown],
        "next": shown[-1].id if len(found) > limit else None,
    }


# -- tags and selections -------------------------------------------------------------


class TagsIn(Strict):
    """Tags to give to items and to take from them."""

    items: ItemList
    add: Annotated[list[Tag], Field(max_length=20, default_factory=list)]
    remove: Annotated[list[Tag], Field(max_length=20, default_factory=list)]


class TagsDone(BaseModel):
    """How many items were tagged."""

    items: int


class TagCount(BaseModel):
    """A tag in use."""

    tag: str
    items: int


@router.get("/tags", response_model=list[TagCount])
def tags(here: Here, limit: Limit = 100) -> list[dict[str, Any]]:
    """Tags in use, the most used first."""
    return [{"tag": t, "items": n} for t, n in here.collection.texts.all_tags(limit)]


@router.post("/tags", response_model=TagsDone)
def change_tags(asked: TagsIn, here: Here, key: Key = None) -> dict[str, Any]:
    """Give tags to items, or take them away."""
    if not asked.add and not asked.remove:
        raise BadInput("Say which tags to add or to remove.")

    def act() -> dict[str, Any]:
        ids = [i.id for i in _all_of(here, asked.items)]
        here.collection.tag(ids, add=asked.add, remove=asked.remove)
        return {"items": len(ids)}

    return here.replay.once(key, "tags", asked.model_dump(), act)


class SelectionIn(Strict):
    """Items to write down, in this order."""

    items: ItemList


@router.post(
    "/selections/export", response_class=Response, responses={200: {"content": {"text/csv": {}}}}
)
def export(asked: SelectionIn, here: Here) -> Response:
    """A selection as CSV: number, path, size, tags."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["item", "file", "width", "height", "tags"])
    for found in _all_of(here, asked.items):
        named = [t.text for t in here.collection.texts.tags(found.id) if t.source != "auto"]
        row = [found.id, printable(found.path), found.width, found.height, "; ".join(named)]
        writer.writerow([no_formula(cell) for cell in row])
    headers = {"Content-Disposition": 'attachment; filename="selection.csv"'}
    return Response(out.getvalue(), headers=headers, media_type="text/csv")


def no_formula(cell: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets a quote in front."""
    starts = isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{cell}" if starts else cell


def _all_of(here: Here, ids: Sequence[int]) -> list[Item]:
    found = here.collection.items.many(dict.fromkeys(ids))
    lost = set(ids) - {i.id for i in found}
    if lost:
        raise NotFound(f"There is no item {min(lost)} in this collection.")
    return found


class FilteredCount(BaseModel):
    """How many items a filter lets through."""

    items: int


@router.post("/filters/count", response_model=FilteredCount)
def count(asked: FilterIn, here: Here) -> dict[str, Any]:
    """How many items a filter lets through."""
    return {"items": here.collection.items.count(asked.filter())}
