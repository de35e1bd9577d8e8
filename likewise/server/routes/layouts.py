"""Pictures laid out for the eye: results as a sorted grid, the whole collection as a map."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from likewise.collection.whole.layouts import ACROSS, MOST_SORTED, ON_PAGE, ON_PART, TILE
from likewise.server.errors import refusals
from likewise.server.jobs import as_json
from likewise.server.routes.items import FOR_EVER, JPEG, Hash, Page
from likewise.server.schemas import ItemId, JobOut, Strict, item_out
from likewise.server.served import Here
from likewise.types import NotFound

router = APIRouter(tags=["layouts"], responses=refusals())
OCTETS: dict[int | str, dict[str, Any]] = {200: {"content": {"application/octet-stream": {}}}}
Some = Annotated[list[ItemId], Field(min_length=1, max_length=MOST_SORTED)]


class SortedIn(Strict):
    """Items to sort, and how many stand side by side."""

    items: Some
    columns: Annotated[int, Field(ge=1, le=200)] | None = None


class SortedOut(BaseModel):
    """Rows of item numbers; null where a cell stays empty."""

    rows: list[list[int | None]]


@router.post("/layouts/sorted", response_model=SortedOut)
def sort(asked: SortedIn, here: Here) -> dict[str, Any]:
    """Arrange items so that similar ones stand beside each other."""
    return {"rows": here.collection.layouts.sorted(asked.items, asked.columns)}


class ItemsIn(Strict):
    """Items to look up."""

    items: Some


@router.post("/items/list", response_model=Page)
def listed(asked: ItemsIn, here: Here) -> dict[str, Any]:
    """The items of these numbers, in this order; those that are gone for good are left out."""
    found = here.collection.items.many(dict.fromkeys(asked.items))
    return {"items": [item_out(i) for i in found], "next": None}


class NameOut(BaseModel):
    """What an island of the map is called, and where it is in shares of the map's side."""

    text: str
    x: float
    y: float


class MapOut(BaseModel):
    """What the page needs to show the map; ``items`` and ``pages`` are addresses for ever."""

    current: bool = Field(description="whether it is that of the newest index generation")
    generation: int = Field(description="0 where nothing is drawn yet")
    count: int
    bits: int = Field(description="the grid has 2**bits cells along the side")
    tile: int = Field(description="pixels along the side of a small picture on a page")
    across: int = Field(description="small pictures along the side of a page")
    on_page: int
    items: str | None
    pages: list[str]
    names: list[NameOut]
    counts: list[int] = Field(description="items in each cell of level 6, or the finest, by rows")


@router.get("/map", response_model=MapOut)
def the_map(here: Here) -> dict[str, Any]:
    """The map of the collection; where it is not drawn yet, POST to the same address."""
    about: dict[str, Any] = {
        "current": here.collection.layouts.is_current, "tile": TILE, "across": ACROSS,
        "on_page": ON_PAGE, "generation": 0, "count": 0, "bits": 0, "items": None,
        "pages": [], "names": [], "counts": [],
    }  # fmt: skip
    made = here.collection.layouts.map()
    return about if made is None else {
        **about, "generation": made.generation, "count": len(made.ids), "bits": made.bits,
        "items": f"/api/v1/map/items/{made.name}", "counts": made.counts(),
        "pages": [f"/api/v1/map/pages/{name}" for name in made.pages],
        "names": [NameOut(text=t, x=x, y=y) for t, x, y in made.names],
    }  # fmt: skip


@router.post("/map", response_model=JobOut, status_code=202)
def draw(here: Here) -> dict[str, Any]:
    """Draw the map anew, as a job; the one under way, where there is one."""
    return as_json(here.runner.start("map", {}))


@router.get("/map/items/{sha256}", response_class=Response, responses=OCTETS)
def map_items(
    sha256: Hash, here: Here, part: Annotated[int, Query(ge=0, le=1 << 16)] | None = None
) -> Response:
    """Items of a map: all numbers (float64), then columns, rows (uint16) and levels (uint8).

    Little-endian, one after another, in the order in which the pages show them; ``part`` asks for
    65,536 of them, those that are seen from afar first.
    """
    made = here.collection.layouts.map()
    if made is None or made.name != sha256:
        raise NotFound("That map was drawn anew; ask for the map again.")
    some = slice(None) if part is None else slice(part * ON_PART, (part + 1) * ON_PART)
    columns, rows = made.cells[some].T
    values = zip((made.ids[some], columns, rows, made.levels[some]), ("<f8", "<u2", "<u2", "u1"))
    data = b"".join(value.astype(kind).tobytes() for value, kind in values)
    return Response(data, headers=FOR_EVER, media_type="application/octet-stream")


@router.get("/map/pages/{sha256}", response_class=Response, responses=JPEG)
def map_page(sha256: Hash, here: Here) -> Response:
    """A page of small pictures by the hash of what it shows."""
    data, whole = here.collection.layouts.page(sha256)
    return Response(data, headers=FOR_EVER if whole else None, media_type="image/jpeg")
