"""Query pictures that a person brings along: raw bytes in, a hash out."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from likewise.server.errors import refusals
from likewise.server.pictures import LARGE
from likewise.server.routes.items import FOR_EVER, JPEG
from likewise.server.served import Here
from likewise.types import BadInput

router = APIRouter(tags=["search"], responses=refusals())
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class Uploaded(BaseModel):
    """An uploaded picture: its hash is what searches name it by."""

    upload: str
    width: int
    height: int
    picture: str


@router.post("/uploads", response_model=Uploaded, openapi_extra=BODY)
async def upload(request: Request, here: Here) -> dict[str, Any]:
    """Take a query picture: the bytes of one file as the body, at most 32 MiB.

    Whatever the headers say, the format is sniffed from the bytes.
    """
    try:
        data = await request.body()
    except ClientDisconnect:
        raise BadInput("The picture did not arrive whole; send it again.") from None
    if not data:
        raise BadInput("The uploaded picture is empty; choose another file.")
    return await run_in_threadpool(_take, data, here)


def _take(data: bytes, here: Here) -> dict[str, Any]:
    picture = here.pictures.upload(data)
    sha256 = hashlib.sha256(data).hexdigest()
    here.collection.thumbnails.put(sha256, LARGE, picture.thumbnail)
    here.collection.uploads.put(data)
    return {
        "upload": sha256,
        "width": picture.width,
        "height": picture.height,
        "picture": f"/api/v1/uploads/{sha256}",
    }


@router.get("/uploads/{sha256}", response_class=Response, responses=JPEG)
def uploaded(sha256: Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")], here: Here) -> Response:
    """An uploaded picture, written anew without metadata."""
    return Response(here.pictures.uploaded(sha256), headers=FOR_EVER, media_type="image/jpeg")
