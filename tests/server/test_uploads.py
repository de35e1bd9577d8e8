"""Bad pictures: each is refused with one reason, and costs nothing."""

from __future__ import annotations

import io
import struct
import zlib

import pytest
from PIL import Image

from tests.server.conftest import picture

API = "/api/v1"


def png_bomb(side: int = 30_000) -> bytes:
    """A few kilobytes that declare 900 million pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"\0" * 100_000)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


BAD = {
    "nothing": (b"", "empty"),
    "svg": (b'<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>', "SVG"),
    "web page": (b"<!doctype html><script>alert(1)</script>", "web page"),
    "text": (b"hello, I am a text", "not of a format"),
    "bomb": (png_bomb(), "million pixels"),
    "half a picture": (b"", "damaged"),
    "zip": (b"PK\x03\x04" + b"\0" * 200, "not of a format"),
    "ps": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not of a format"),
}


@pytest.fixture
def bad(folder):
    whole = picture(folder)
    return {**BAD, "half a picture": (whole[: len(whole) // 2], "damaged")}


def test_bad_uploads_are_refused_with_one_reason(client, collection, bad):
    for name, (data, reason) in bad.items():
        # Whatever it claims to be: the bytes decide.
        headers = {"Content-Type": "image/jpeg"}
        answer = client.post(f"{API}/uploads", content=data, headers=headers)
        assert answer.status_code == 422, (name, answer.text)
        assert reason in answer.json()["detail"], (name, answer.text)
    assert collection.store.uploads.all() == []
    good = client.post(f"{API}/uploads", content=picture(collection.folder))
    assert good.status_code == 200  # the child that met the bomb is still of use


def test_the_same_picture_twice_is_kept_once(client, collection):
    data = picture(collection.folder, 2)
    first = client.post(f"{API}/uploads", content=data).json()
    assert client.post(f"{API}/uploads", content=data).json() == first
    assert collection.store.uploads.all() == [first["upload"]]


def test_an_animation_and_a_transparent_picture_are_taken(client):
    frames = [Image.new("P", (20, 10), colour) for colour in (1, 2)]
    gif, png = io.BytesIO(), io.BytesIO()
    frames[0].save(gif, "GIF", save_all=True, append_images=frames[1:])
    Image.new("RGBA", (10, 20), (255, 0, 0, 9)).save(png, "PNG")
    for data, size in ((gif, (20, 10)), (png, (10, 20))):
        made = client.post(f"{API}/uploads", content=data.getvalue())
        assert made.status_code == 200
        assert (made.json()["width"], made.json()["height"]) == size


def test_marks_about_an_upload_are_kept(client, collection):
    upload = client.post(f"{API}/uploads", content=picture(collection.folder, 3)).json()["upload"]
    query = {"examples": [{"upload": upload}]}
    found = client.post(f"{API}/search", json={**query, "k": 3}).json()["results"]
    made = client.post(f"{API}/judgements", json={"query": query, "items": [found[1]["item"]]})
    assert made.status_code == 201
    (listed,) = client.get(f"{API}/judgements").json()["records"]
    assert listed["query"]["upload"] == upload


def test_uploads_that_nothing_refers_to_have_a_quota_and_an_end(client, collection, monkeypatch):
    """The oldest go first; what a judgement or an open search refers to stays."""
    uploads, now = collection.store.uploads, [1_000_000.0]
    monkeypatch.setattr("likewise.store.uploads.time.time", lambda: now[0])

    def bring(number: int) -> str:
        now[0] += 1
        data = picture(collection.folder, number)
        return client.post(f"{API}/uploads", content=data).json()["upload"]

    judged, searched = bring(1), bring(2)
    query = {"examples": [{"upload": judged}]}
    assert client.post(f"{API}/judgements", json={"query": query, "items": [1]}).status_code == 201
    begun = client.post(f"{API}/sessions", json={"query": {"examples": [{"upload": searched}]}})
    assert begun.status_code == 201, begun.text
    monkeypatch.setattr("likewise.store.uploads.MOST", 2)
    free = [bring(number) for number in (3, 4, 5)]
    assert set(uploads.all()) == {judged, searched, *free[1:]}
    assert collection.thumbnails.get(free[0], "large") is None
    assert client.get(f"{API}/uploads/{free[0]}").status_code == 404
    bring(4)  # again: now it is the newest
    monkeypatch.setattr("likewise.store.uploads.MOST_BYTES", len(picture(collection.folder, 4)))
    uploads.sweep()
    assert set(uploads.all()) == {judged, searched, free[1]}
    now[0] += 31 * 24 * 3600
    uploads.sweep()
    assert set(uploads.all()) == {judged, searched}
    assert sorted(p.name for p in uploads.folder.iterdir()) == sorted([judged, searched])


def test_query_pictures_in_memory_have_a_quota(collection, monkeypatch):
    pictures, first = collection.pictures, picture(collection.folder, 1)
    monkeypatch.setattr("likewise.collection.query_pictures.KEPT_BYTES", len(first))
    for number in (2, 3, 1):
        pictures.locate(picture(collection.folder, number))
    assert list(pictures._uploads.values()) == [first]
