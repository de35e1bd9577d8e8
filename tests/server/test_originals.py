"""The file behind an item: saved as it is, its path, its folder; marks with their records."""

from __future__ import annotations

import os
import stat
import time

import pytest

from tests.server.conftest import Server, ids, picture

API = "/api/v1"


def test_the_original_comes_as_an_attachment_that_no_browser_shows(client, collection, folder):
    item = ids(collection)[0]
    answer = client.get(f"{API}/items/{item}/file")
    name = client.get(f"{API}/items/{item}").json()["name"]
    assert answer.content == (folder / name).read_bytes()
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_strangers_get_no_file_no_path_and_no_folder(stranger, collection):
    item = ids(collection)[0]
    assert stranger.get(f"{API}/items/{item}/file").status_code == 401
    assert stranger.get(f"{API}/items/{item}/place").status_code == 401
    assert stranger.post(f"{API}/items/{item}/folder").status_code == 401


def test_a_file_that_went_away_says_so(client, collection, folder):
    item = ids(collection)[0]
    (folder / client.get(f"{API}/items/{item}").json()["name"]).unlink()
    answer = client.get(f"{API}/items/{item}/file")
    assert answer.status_code == 404
    assert "not where it was" in answer.json()["detail"]


def test_the_whole_path_is_told_on_the_own_machine_only(client, collection, folder):
    item = ids(collection)[0]
    name = client.get(f"{API}/items/{item}").json()["name"]
    here = client.get(f"{API}/items/{item}/place").json()
    assert here == {"path": str(folder / name), "own_machine": True}
    far = client.get(f"{API}/items/{item}/place", headers={"X-Forwarded-For": "203.0.113.9"}).json()
    assert far == {"path": name, "own_machine": False}


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """A file manager that writes down what it was asked to show."""
    told = tmp_path / "told.txt"
    tools = tmp_path / "tools"
    tools.mkdir()
    tool = tools / "xdg-open"
    tool.write_text(f'#!/bin/sh\nprintf "%s" "$1" > "{told}.part" && mv "{told}.part" "{told}"\n')
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("sys.platform", "linux")
    return told


def wait_for(file) -> str:
    deadline = time.monotonic() + 30
    while not file.exists():
        assert time.monotonic() < deadline, "nothing was opened"
        time.sleep(0.01)
    return file.read_text()


def test_the_folder_is_shown_on_the_own_machine(client, collection, folder, opened):
    assert client.post(f"{API}/items/{ids(collection)[0]}/folder").json() == {"shown": True}
    assert wait_for(opened) == str(folder)


@pytest.mark.parametrize(
    "headers", [{"X-Forwarded-For": "203.0.113.9"}, {"Forwarded": "for=203.0.113.9"}]
)
def test_the_folder_is_not_shown_to_whom_a_proxy_brings(client, collection, opened, headers):
    answer = client.post(f"{API}/items/{ids(collection)[0]}/folder", headers=headers)
    assert answer.status_code == 403
    assert not opened.exists()


def test_the_folder_is_not_shown_where_a_password_lets_others_in(collection, opened):
    with Server(collection, password="a long password").running() as server:
        client = server.client(Authorization=f"Bearer {server.access.token}")
        answer = client.post(f"{API}/items/{ids(collection)[0]}/folder")
        client.close()
    assert answer.status_code == 403
    assert not opened.exists()


def test_an_answer_lists_all_marks_of_its_query_with_what_takes_them_back(client, collection):
    query, right, wrong = ids(collection)[:3]
    asked = {"examples": [{"item": query}]}
    assert client.post(f"{API}/search", json=asked).json()["feedback"] == []

    def say(item, relevant):
        body = {"query": asked, "items": [item], "relevant": relevant}
        return client.post(f"{API}/judgements", json=body).json()["records"][0]

    first, second, third = say(right, False), say(right, True), say(wrong, False)
    found = client.post(f"{API}/search", json={**asked, "k": 1}).json()["feedback"]
    said = [(f["item"], f["value"], f["records"]) for f in found]
    assert said == [(right, 1.0, [first, second]), (wrong, 0.0, [third])]
    assert found[0]["thumbnail"]
    for record in (first, second):
        client.post(f"{API}/judgements/{record}/undo")
    found = client.post(f"{API}/search", json={**asked, "k": 1}).json()["feedback"]
    assert [f["item"] for f in found] == [wrong]


def test_a_name_with_other_letters_is_kept(client, collection, folder):
    (folder / "Größe «é».jpg").write_bytes(picture(folder) + b"other")
    collection.index(features=("colour", "texture"), processes=1)
    listed = client.get(f"{API}/items?limit=500").json()["items"]
    item = next(i["item"] for i in listed if i["name"].startswith("Gr"))
    told = client.get(f"{API}/items/{item}/file").headers["content-disposition"]
    assert told.startswith("attachment; filename*=utf-8''Gr%C3%B6%C3%9Fe")


def test_folders_are_listed_and_one_is_added_and_read(client, collection, folder, tmp_path):
    from likewise.datasets import swatches

    other = tmp_path / "drive"
    swatches(3, size=48, seed=77).write(other, jobs=1)
    assert client.get(f"{API}/roots").json() == [{"path": str(folder), "reachable": True}]
    made = client.post(f"{API}/roots", json={"path": str(other)})
    assert made.status_code == 201
    assert [root["path"] for root in made.json()] == [str(folder), str(other)]
    before = len(collection)
    collection.index(processes=1)
    assert len(collection) == before + 3
    other.rename(tmp_path / "away")
    assert client.get(f"{API}/roots").json()[1] == {"path": str(other), "reachable": False}


def test_a_folder_is_removed_unless_pictures_are_being_read(client, collection, folder, tmp_path):
    from likewise.datasets import swatches

    other = tmp_path / "drive"
    swatches(3, size=48, seed=77).write(other, jobs=1)
    client.post(f"{API}/roots", json={"path": str(other)})
    collection.index(processes=1)
    before = len(collection)

    def remove(path, **how):
        return client.post(f"{API}/roots/remove", json={"path": str(path)}, **how)

    for bad, status, says in (
        (folder, 404, "was not added"), (tmp_path, 404, str(other)), ("drive", 422, "whole path"),
    ):  # fmt: skip
        answer = remove(bad)
        assert (answer.status_code, says in answer.json()["detail"]) == (status, True), answer.text
    assert remove(other, headers={"X-Forwarded-For": "203.0.113.9"}).status_code == 403
    job = collection.jobs.create("index").id
    collection.jobs.move(job, "running")
    assert remove(other).status_code == 409
    collection.jobs.move(job, "done")
    assert remove(other).json() == [{"path": str(folder), "reachable": True}]
    assert len(collection) == before - 3


def test_a_folder_that_cannot_be_added_is_refused_with_a_reason(client, folder, tmp_path):
    (folder / "inside").mkdir()
    (tmp_path / "file").write_bytes(b"no folder")
    for bad, status, says in (
        (folder, 422, "already"), (folder / "inside", 422, "inside"), (folder.parent, 422, "twice"),
        (tmp_path / "none", 404, "no folder"), (tmp_path / "file", 404, "no folder"),
        ("pictures", 422, "whole path"), ("/a\0b", 422, "cannot be stored"),
    ):  # fmt: skip
        answer = client.post(f"{API}/roots", json={"path": str(bad)})
        assert (answer.status_code, says in answer.json()["detail"]) == (status, True), answer.text
    assert len(client.get(f"{API}/roots").json()) == 1


def test_strangers_see_no_folder_and_nobody_adds_one_from_afar(client, stranger, folder, tmp_path):
    assert stranger.get(f"{API}/roots").status_code == 401
    assert stranger.post(f"{API}/roots", json={"path": str(tmp_path)}).status_code == 401
    far = {"X-Forwarded-For": "203.0.113.9"}
    assert client.get(f"{API}/roots", headers=far).json()[0]["path"] == folder.name
    other = tmp_path / "other"
    other.mkdir()
    answer = client.post(f"{API}/roots", json={"path": str(other)}, headers=far)
    assert (answer.status_code, "machine that serves" in answer.json()["detail"]) == (403, True)
    assert len(client.get(f"{API}/roots").json()) == 1


def test_files_of_the_same_shot_are_named(client, collection, folder):
    item = ids(collection)[0]
    name = client.get(f"{API}/items/{item}").json()["name"]
    stem = name.rpartition(".")[0]
    for beside in (f"{stem}.MOV", f"{stem.upper()}.dng", f"{stem}.txt", f"{stem}-2.mov"):
        (folder / beside).write_bytes(b"of the same shot, or not")
    named = sorted([f"{stem}.MOV", f"{stem.upper()}.dng"])
    assert client.get(f"{API}/items/{item}").json()["companions"] == named
    assert collection.companions(item) == named
    assert collection.index(processes=1).problems == 0  # neither is a picture of its own
    (folder / name).rename(folder / "elsewhere")
    assert collection.companions(item) == named  # what is beside its place
