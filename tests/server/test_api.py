"""The verbs of the collection over HTTP."""

from __future__ import annotations

import csv
import io
import re
import threading
import time

import pytest
from PIL import Image

from likewise.datasets import swatches
from likewise.server import jobs
from likewise.server.jobs import Running
from tests.server.conftest import ids, picture, wait_for

API = "/api/v1"


def search(client, **asked):
    answer = client.post(f"{API}/search", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_search_over_http_is_the_collections_search(client, collection):
    item = ids(collection)[3]
    answer = search(client, examples=[{"item": item}], k=7)
    direct = collection.search(item, k=7)
    assert [r["item"] for r in answer["results"]] == direct.ids.tolist()
    assert [r["score"] for r in answer["results"]] == pytest.approx(direct.scores)
    assert answer["model"] == direct.model
    assert answer["generation"] == direct.generation
    assert answer["degraded"] == ""
    assert answer["marks"] == 0


def test_negatives_weights_crops_and_words(client, collection):
    a, b, c = ids(collection)[:3]
    answer = search(
        client, examples=[{"item": a, "weight": 2}, {"item": b}, {"item": c, "weight": -1}], k=5
    )
    direct = collection.search([a, b], weights=[2, 1], without=c, k=5)
    assert [r["item"] for r in answer["results"]] == direct.ids.tolist()
    crop = (0.0, 0.0, 0.5, 0.5)
    part = search(client, examples=[{"item": a, "crop": crop}], k=5)
    assert [r["item"] for r in part["results"]] == collection.search(a, crop=crop, k=5).ids.tolist()
    words = search(client, text="swatch", k=40)
    assert len(words["results"]) == 40
    assert {tuple(r["found_by"]) for r in words["results"]} == {("words",)}


def test_filters_and_tags(client, collection):
    a, b, c = ids(collection)[:3]
    answer = client.post(f"{API}/tags", json={"items": [a, b], "add": ["Keep"]})
    assert answer.json() == {"items": 2}
    found = search(client, text="swatch", filter={"tags": ["keep"]})
    assert {r["item"] for r in found["results"]} == {a, b}
    assert {"tag": "Keep", "items": 2} in client.get(f"{API}/tags").json()
    assert client.post(f"{API}/filters/count", json={"tags": ["keep"]}).json() == {"items": 2}
    client.post(f"{API}/tags", json={"items": [a, b], "remove": ["keep"]})
    assert client.post(f"{API}/filters/count", json={"tags": ["keep"]}).json() == {"items": 0}
    assert c not in {a, b}


def test_a_stale_generation_is_refused(client, collection):
    item = ids(collection)[0]
    now = collection.look.view().generation
    asked = {"examples": [{"item": item}], "generation": now}
    assert client.post(f"{API}/search", json=asked).status_code == 200
    answer = client.post(f"{API}/search", json={**asked, "generation": now + 1})
    assert answer.status_code == 409
    assert "search again" in answer.json()["detail"]


def test_uploads_are_searched_by_hash_and_shown_without_metadata(client, folder, collection):
    plain = Image.open(io.BytesIO(picture(folder)))
    out, exif = io.BytesIO(), Image.Exif()
    exif[0x010E] = "a secret in the description"
    plain.save(out, "JPEG", exif=exif)
    assert b"secret" in out.getvalue()
    answer = client.post(f"{API}/uploads", content=out.getvalue())
    assert answer.status_code == 200, answer.text
    made = answer.json()
    shown = client.get(made["picture"])
    assert shown.headers["content-type"] == "image/jpeg"
    assert b"secret" not in shown.content
    assert not Image.open(io.BytesIO(shown.content)).getexif()
    found = search(client, examples=[{"upload": made["upload"]}], k=1)
    assert found["results"][0]["item"] == collection.item("swatch-0001.jpg").id


def test_thumbnails_are_immutable_and_clean(client, collection):
    found = client.get(f"{API}/items/{ids(collection)[0]}").json()
    for address in (found["thumbnail"], found["picture"]):
        answer = client.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        picture = Image.open(io.BytesIO(answer.content))
        assert picture.format == "JPEG"
        assert not picture.getexif()
        assert client.get(address).content == answer.content


def test_items_and_problems_page_by_cursor(client, collection):
    seen, cursor = [], 0
    while cursor is not None:
        page = client.get(f"{API}/items", params={"cursor": cursor, "limit": 7}).json()
        assert 1 <= len(page["items"]) <= 7
        seen += [i["item"] for i in page["items"]]
        cursor = page["next"]
    assert seen == sorted(set(seen))
    assert len(seen) == 41
    problems = client.get(f"{API}/problems").json()
    assert [i["name"] for i in problems["items"]] == ["broken.jpg"]
    assert "not of a format" in problems["items"][0]["reason"]
    assert problems["next"] is None


def test_marks_are_shown_undone_and_brought_back(client, collection):
    query, other = ids(collection)[:2]
    asked = {"query": {"examples": [{"item": query}]}, "items": [other], "person": "Ada"}
    (record,) = client.post(f"{API}/judgements", json=asked).json()["records"]
    marks = {r["item"]: r["mark"] for r in search(client, examples=[{"item": query}])["results"]}
    assert marks.pop(other) == 1.0
    assert set(marks.values()) == {None}
    (listed,) = client.get(f"{API}/judgements").json()["records"]
    assert listed["person"] == "Ada"
    assert listed["query"]["item"] == query
    assert listed["items"] == [other]
    undo = client.post(f"{API}/judgements/{record}/undo", json={"person": "Ada"}).json()["undo"]
    assert client.get(f"{API}/judgements").json()["counting"] == 0
    again = client.post(f"{API}/judgements/{record}/undo", json={})
    assert again.status_code == 422
    client.post(f"{API}/judgements/{undo}/undo")
    assert client.get(f"{API}/judgements").json()["counting"] == 1


def test_a_judgement_sent_twice_with_one_key_counts_once(client, collection):
    query, a, b = ids(collection)[:3]
    asked = {"query": {"examples": [{"item": query}]}, "items": [a, b], "relevant": False}
    headers = {"Idempotency-Key": "one-and-the-same-key"}
    first = client.post(f"{API}/judgements", json=asked, headers=headers).json()
    second = client.post(f"{API}/judgements", json=asked, headers=headers).json()
    assert first == second
    assert client.get(f"{API}/judgements").json()["counting"] == 2
    other = {**asked, "relevant": True}
    assert client.post(f"{API}/judgements", json=other, headers=headers).status_code == 422
    undo = {"Idempotency-Key": "undo-key-of-this-test"}
    record = first["records"][0]
    one = client.post(f"{API}/judgements/{record}/undo", headers=undo).json()
    assert client.post(f"{API}/judgements/{record}/undo", headers=undo).json() == one


def test_keys_of_other_writes_replay_the_answer(client, collection):
    item = ids(collection)[0]
    headers = {"Idempotency-Key": "tag-key-of-this-test"}
    asked = {"items": [item], "add": ["once"]}
    assert client.post(f"{API}/tags", json=asked, headers=headers).json() == {"items": 1}
    client.post(f"{API}/tags", json={"items": [item], "remove": ["once"]})
    assert client.post(f"{API}/tags", json=asked, headers=headers).json() == {"items": 1}
    assert client.post(f"{API}/filters/count", json={"tags": ["once"]}).json() == {"items": 0}
    changed = {"items": [item], "add": ["another"]}
    assert client.post(f"{API}/tags", json=changed, headers=headers).status_code == 422


def test_judgements_page_newest_first(client, collection):
    query, *rest = ids(collection)
    for item in rest[:9]:
        asked = {"query": {"examples": [{"item": query}]}, "items": [item]}
        client.post(f"{API}/judgements", json=asked)
    seen, cursor = [], 0
    while cursor is not None:
        page = client.get(f"{API}/judgements", params={"cursor": cursor, "limit": 4}).json()
        seen += [r["items"][0] for r in page["records"]]
        cursor = page["next"]
    assert seen == list(reversed(rest[:9]))


def test_orderings_and_clicks_are_judgements_too(client, collection):
    a, b, c = ids(collection)[:3]
    query = {"text": "red dots"}
    for asked in (
        {"query": query, "items": [a, b, c], "kind": "ordering"},
        {"query": query, "items": [a], "kind": "click"},
    ):
        assert client.post(f"{API}/judgements", json=asked).status_code == 201
    kinds = [r["kind"] for r in client.get(f"{API}/judgements").json()["records"]]
    assert kinds == ["click", "ordering"]
    alone = {"query": query, "items": [a], "kind": "ordering"}
    assert client.post(f"{API}/judgements", json=alone).status_code == 422


def test_clicks_have_places_and_words_are_learned(client, collection):
    some = ids(collection)
    for n in range(6):
        body = {
            "query": {"text": f"red thing{n}"}, "items": some[n : n + 2], "kind": "click",
            "positions": [1, n + 2], "person": f"p{n}",
        }  # fmt: skip
        assert client.post(f"{API}/judgements", json=body).status_code == 201
    newest = client.get(f"{API}/judgements").json()["records"][0]
    assert newest["position"] == 7
    body["positions"] = [1]
    assert client.post(f"{API}/judgements", json=body).status_code == 422
    job = client.post(
        f"{API}/models/learn", json={"method": "ranked-cca", "settings": {"propensity": 0.5}}
    )
    done = wait_for(client, job.json()["id"], "done", "failed")
    assert done["state"] == "done", done
    model = client.get(f"{API}/models/{done['model']}").json()
    assert (model["task"], model["active"]) == ("text", False)
    assert model["card"]["settings"]["propensity"] == 0.5
    force = {"force": True}
    told = client.post(f"{API}/models/{model['id']}/activate", json=force).json()
    assert told == {"model": model["id"], "previous": None}
    answer = search(client, text="red", k=5)
    assert answer["reader"] == f"{model['id']} ranked-cca"
    assert "learned words" in answer["results"][0]["found_by"]
    assert client.get(f"{API}/status").json()["model"] == "plain"
    near = client.get(f"{API}/suggest", params={"text": "red"}).json()
    assert near
    assert any(s["text"].startswith("red thing") for s in near)
    assert client.get(f"{API}/suggest", params={"text": ""}).json() == []
    why = client.post(f"{API}/why", json={"text": "red thing0", "item": some[0]}).json()
    assert why["clicks"] == 1
    assert why["learned_words"] == ["red", "thing0"]
    back = client.post(f"{API}/models/rollback", json={"task": "text"}).json()
    assert back == {"model": None, "previous": model["id"]}
    assert search(client, text="red", k=5)["reader"] == "class names"


def test_earlier_teaching_is_offered_used_and_refused(client, collection):
    some = ids(collection)
    near = collection.search(some[0], k=40).ids.tolist()
    collection.mark(some[0], near[:4])
    query = {"examples": [{"item": near[0]}]}
    answer = search(client, **query)
    (offer,) = answer["offers"]
    name = f"item:{some[0]}"
    assert (offer["name"], offer["kind"], offer["item"]) == (name, "item", some[0])
    assert (offer["right"], offer["wrong"], offer["used"]) == (4, 0, False)
    used = search(client, **query, use=[name])
    assert [o["used"] for o in used["offers"]] == [True]
    assert [r["score"] for r in used["results"]] != [r["score"] for r in answer["results"]]
    why = client.post(f"{API}/why", json={**query, "item": near[1], "use": [name]}).json()
    assert sum(why["parts"].values()) == pytest.approx(why["score"], rel=1e-4)
    assert "used" in why["parts"]
    said = {"query": query, "offer": name, "likeness": offer["likeness"]}
    assert client.post(f"{API}/offers", json={**said, "taken": False}).status_code == 201
    assert search(client, **query)["offers"] == []
    assert client.post(f"{API}/offers", json={**said, "taken": None}).status_code == 201
    assert search(client, **query)["offers"] == [offer]
    lost = client.post(f"{API}/search", json={**query, "use": ["item:999999"]})
    assert lost.status_code == 422
    assert "No feedback is kept" in lost.json()["detail"]
    lost = client.post(f"{API}/offers", json={**said, "offer": "text:none", "taken": True})
    assert lost.status_code == 404


def test_learning_activates_what_the_guard_lets_pass_unless_told_not_to(
    client, collection, monkeypatch
):
    some = ids(collection)
    collection.teaching.mark(collection.query(some[0]), some[1:3])
    collection.teaching.mark(collection.query(some[0]), some[3:5], relevant=False)
    ready = collection.models.prepare()
    card = {**ready.card, "guard": {"passed": True, "sentence": "It may serve."}}
    monkeypatch.setattr(jobs, "learn_apart", lambda *_: ready._replace(card=card))
    for body, message in (
        ({"activate": False}, "It may serve."),
        ({}, "Nothing new was said since it was learned. It may serve. It is active now."),
    ):
        job = client.post(f"{API}/models/learn", json=body).json()
        done = wait_for(client, job["id"], "done", "failed")
        assert done["message"] == message
        active = [m["id"] for m in client.get(f"{API}/models").json() if m["active"]]
        assert active == ([done["model"]] if not body else [])


def test_learning_jobs_of_earlier_versions_go_on():
    rest = {"activate": False, "propensity": 0.5, "more": False, "person": ""}
    for old, now in (
        ({"objective": "bilinear", "space": "", **rest}, ("bilinear", {})),
        ({"objective": "bilinear", "space": "words", **rest}, ("word-table", {})),
        (
            {"objective": "clicks", "space": "", **rest},
            ("ranked-cca", {"propensity": 0.5, "more": False}),
        ),
        ({"method": "gone", "settings": {"a": 1}}, ("gone", {"a": 1})),
    ):
        assert jobs.asked_for(old) == now


def test_why_names_the_blocks(client, collection):
    a, b = ids(collection)[:2]
    found = client.post(f"{API}/why", json={"examples": [{"item": a}], "item": b}).json()
    assert set(found["blocks"]) == {"colour", "texture"}
    assert sum(found["blocks"].values()) == pytest.approx(found["score"], abs=1e-4)


def test_candidates_are_near_and_far_and_never_judged_before(client, collection):
    query = ids(collection)[0]
    asked = {"examples": [{"item": query}], "count": 10}
    first = client.post(f"{API}/teach/candidates", json=asked).json()["items"]
    items = [r["item"] for r in first]
    assert len(set(items)) == 10
    assert query not in items
    nearest = [r["item"] for r in search(client, examples=[{"item": query}], k=5)["results"]]
    assert set(nearest) <= set(items)
    assert set(items[:4]) - set(nearest)  # near and far in turn
    judged = {"query": {"examples": [{"item": query}]}, "items": items[:4]}
    client.post(f"{API}/judgements", json=judged)
    left = client.post(f"{API}/teach/candidates", json=asked).json()["items"]
    assert not set(items[:4]) & {r["item"] for r in left}
    words = client.post(f"{API}/teach/candidates", json={"text": "red"})
    assert words.status_code == 200  # a colour can be seen here
    words = client.post(f"{API}/teach/candidates", json={"text": "zzyzx"})
    assert words.status_code == 422


def test_candidates_run_out_rather_than_repeat(client, collection):
    query, *rest = ids(collection)
    judged = {"query": {"examples": [{"item": query}]}, "items": rest}
    client.post(f"{API}/judgements", json=judged)
    asked = {"examples": [{"item": query}], "count": 10}
    assert client.post(f"{API}/teach/candidates", json=asked).json()["items"] == []


def test_the_next_reference_is_one_that_nobody_taught(client, collection):
    first = client.get(f"{API}/teach/next").json()
    item = first["reference"]["item"]
    skipped = client.get(f"{API}/teach/next", params={"skip": item}).json()["reference"]["item"]
    assert skipped != item
    other = next(i for i in ids(collection) if i not in (item, skipped))
    for relevant, judged in ((True, other), (False, skipped)):
        asked = {"query": {"examples": [{"item": item}]}, "items": [judged], "relevant": relevant}
        client.post(f"{API}/judgements", json=asked)
    after = client.get(f"{API}/teach/next").json()
    assert after["reference"]["item"] != item
    assert (after["judgements"], after["queries"], after["both"]) == (2, 1, 1)
    assert after["lesson"] == first["lesson"] - 1


def test_a_selection_is_exported_as_csv_in_the_order_given(client, collection):
    a, b = ids(collection)[:2]
    client.post(f"{API}/tags", json={"items": [a], "add": ["=cmd()"]})
    answer = client.post(f"{API}/selections/export", json={"items": [b, a]})
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [int(r["item"]) for r in rows] == [b, a]
    assert "attachment" in answer.headers["content-disposition"]
    assert rows[1]["tags"].startswith("'=")  # no spreadsheet runs it


def test_status_names_the_collection_but_not_where_it_lies(client, folder):
    found = client.get(f"{API}/status").json()
    assert found["name"] == folder.name
    assert found["findable"] == 40
    assert found["items"]["problem"] == 1
    assert str(folder.parent) not in client.get(f"{API}/status").text


def test_an_index_job_takes_in_what_is_new(client, folder, collection):
    (folder / "new.jpg").write_bytes(picture(folder, 5) + b"\0")
    made = client.post(f"{API}/jobs", json={"kind": "index"})
    assert made.status_code == 202
    done = wait_for(client, made.json()["id"], "done", "failed")
    assert done["state"] == "done", done
    assert collection.item("new.jpg").state == "indexed"
    assert done["message"] == "1 new picture."
    assert client.get(f"{API}/jobs").json()[0]["id"] == done["id"]


@pytest.fixture
def begun(monkeypatch):
    """Set once work has begun; it then waits until something is asked of it."""
    event, real = threading.Event(), Running.progress

    def progress(self, done: int, total: int, message: str = "") -> None:
        real(self, done, total, message)
        if done and not event.is_set():
            event.set()
            deadline = time.monotonic() + 60
            while not self.wanted and time.monotonic() < deadline:
                time.sleep(0.01)

    monkeypatch.setattr(Running, "progress", progress)
    return event


def test_an_index_job_cancelled_half_way_keeps_what_was_done(client, folder, collection, begun):
    swatches(60, size=64, seed=9).write(folder / "more", jobs=1)
    job = client.post(f"{API}/jobs", json={"kind": "index"}).json()["id"]
    assert client.post(f"{API}/jobs", json={"kind": "index"}).json()["id"] == job
    assert begun.wait(60)
    assert client.post(f"{API}/jobs/{job}/cancel").status_code == 200
    assert wait_for(client, job, "cancelled", "done")["state"] == "cancelled"
    assert 40 < len(collection) < 100
    assert search(client, text="swatch")["results"]
    again = client.post(f"{API}/jobs/{job}/resume")
    assert again.status_code == 422
    fresh = client.post(f"{API}/jobs", json={"kind": "index"}).json()["id"]
    assert wait_for(client, fresh, "done", "failed")["state"] == "done"
    assert len(collection) == 100


def test_a_paused_job_goes_on(client, folder, collection, begun):
    swatches(60, size=64, seed=8).write(folder / "more", jobs=1)
    job = client.post(f"{API}/jobs", json={"kind": "index"}).json()["id"]
    assert begun.wait(60)
    assert client.post(f"{API}/jobs/{job}/pause").status_code == 200
    wait_for(client, job, "paused")
    assert 40 < len(collection) < 100
    assert client.post(f"{API}/jobs/{job}/resume").json()["state"] == "running"
    assert wait_for(client, job, "done", "failed")["state"] == "done"
    assert len(collection) == 100


def test_a_scan_that_finds_nothing_fails_as_a_sentence(client, folder, collection):
    for file in folder.glob("*.jpg"):
        file.unlink()
    job = client.post(f"{API}/jobs", json={"kind": "index"}).json()["id"]
    failed = wait_for(client, job, "failed", "done")
    assert failed["state"] == "failed"
    assert "nothing was changed" in failed["message"]
    assert len(collection) == 40


def test_representatives_are_items_of_the_collection(client, collection):
    found = client.get(f"{API}/representatives", params={"count": 9}).json()["items"]
    assert len({i["item"] for i in found}) == 9
    assert {i["item"] for i in found} <= set(ids(collection))


def test_an_unknown_address_is_a_page_to_a_person_and_a_problem_to_a_program(client):
    person = {"Accept": "text/html,*/*;q=0.8"}
    page = client.get("/resluts", headers=person)
    assert page.status_code == 404
    assert page.headers["content-type"].startswith("text/html")
    assert client.post(f"{API}/nowhere", json={}).status_code == 404
    for path, headers in (("/resluts", {}), (f"{API}/nowhere", person), ("/static/no.js", person)):
        answer = client.get(path, headers=headers)
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"


def test_errors_are_problem_documents(client):
    cases = [
        (client.get(f"{API}/items/999999"), 404),
        (client.get(f"{API}/nowhere"), 404),
        (client.delete(f"{API}/items/1"), 405),
        (client.post(f"{API}/search", json={}), 422),
        (client.post(f"{API}/search", json={"examples": [{"item": 10**9}]}), 404),
        (client.post(f"{API}/search", json={"examples": [{}]}), 422),
        (client.post(f"{API}/search", json={"text": "x", "colour": 1}), 422),
        (client.post(f"{API}/search", json={"text": "x", "line": "objects"}), 422),
        (client.post(f"{API}/search", content=b"{"), 422),
        (client.post(f"{API}/search", json={"examples": [{"upload": "0" * 64}]}), 404),
        (client.get(f"{API}/thumbnails/{'0' * 64}"), 404),
        (client.get(f"{API}/models/7"), 404),
        (client.post(f"{API}/models/rollback", json={}), 404),
        (client.post(f"{API}/jobs/77/cancel"), 404),
        (client.post(f"{API}/tags", json={"items": [1]}), 422),
        (client.post(f"{API}/tags", json={"items": [10**9], "add": ["x"]}), 404),
    ]
    for answer, status in cases:
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        body = answer.json()
        assert body["status"] == status
        assert len(body["detail"]) > 10
        assert "Traceback" not in answer.text


def test_the_page_and_the_document_of_the_api_are_served(client):
    for address in ("/", "/results", "/teach", "/jobs"):
        answer = client.get(address)
        assert answer.status_code == 200
        main = re.search(r'src="(/static/[0-9a-f]{16}/main.js)"', answer.text).group(1)
    kept, other = client.get(main), client.get("/static/main.js")
    assert kept.content == other.content
    assert kept.headers["content-type"].startswith("text/javascript")
    assert kept.headers["content-encoding"] == "gzip"
    assert "immutable" in kept.headers["cache-control"]
    assert other.headers["cache-control"] == "no-cache"
    plain = client.get(main, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == kept.content
    for name in re.findall(r'"(/static/[^"]+)"', client.get("/").text + kept.text):
        assert client.get(name).status_code == 200, name
    assert client.get(f"/static/{'0' * 16}/main.js").status_code == 404  # of another version
    document = client.get(f"{API}/openapi.json").json()
    shown = client.get(f"{API}/docs").text
    for path in document["paths"]:
        assert path in shown


def test_a_network_that_there_is_not_and_a_collection_without_one_are_refused(client):
    assert client.post(f"{API}/jobs", json={"kind": "index", "network": "lite9"}).status_code == 422
    assert client.get(f"{API}/status").json()["network"] == ""
    made = client.post(f"{API}/jobs", json={"kind": "index", "network": "lite2"})
    done = wait_for(client, made.json()["id"], "done", "failed")
    assert (done["state"], done["message"]) == (
        "failed",
        "This collection has no deep features to choose a network for.",
    )
