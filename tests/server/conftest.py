"""A small served collection, and a client that is signed in by the token."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import likewise
from likewise.datasets import swatches
from likewise.server import Access, make_app

FEATURES = ("colour", "texture")
PORT = 8420
BASE = f"http://127.0.0.1:{PORT}"


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    """An indexed folder of swatches with one unreadable file."""
    folder = tmp_path_factory.mktemp("made") / "pictures"
    swatches(40, size=64, seed=1).write(folder, jobs=1)
    (folder / "broken.jpg").write_bytes(b"not a picture")
    with likewise.open(folder, create=True) as collection:
        report = collection.index(features=FEATURES, processes=1)
        assert report.embedded == 40
        assert report.problems == 1
    return folder


@pytest.fixture
def folder(made, tmp_path) -> Path:
    target = tmp_path / "pictures"
    shutil.copytree(made, target)
    return target


@pytest.fixture
def access() -> Access:
    return Access(b"s" * 32, PORT, token="the-token-of-the-tests")


@pytest.fixture
def collection(folder):
    with likewise.open(folder, write=True) as opened:
        yield opened


@pytest.fixture
def app(collection, access):
    return make_app(collection, access)


@pytest.fixture
def client(app, access):
    headers = {"Authorization": f"Bearer {access.token}"}
    with TestClient(app, base_url=BASE, headers=headers, follow_redirects=False) as opened:
        yield opened


@pytest.fixture
def stranger(app):
    """A client that is not signed in."""
    with TestClient(app, base_url=BASE, follow_redirects=False) as opened:
        yield opened


def picture(folder: Path, number: int = 1) -> bytes:
    return (folder / f"swatch-{number:04d}.jpg").read_bytes()


def ids(collection) -> list[int]:
    """Items that can be found."""
    return [int(i) for i in collection.snapshot().ids]
