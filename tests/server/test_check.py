"""The short check over HTTP: what is asked, answers, and errors in whole sentences."""

from __future__ import annotations

from likewise.store import Drawn

API = "/api/v1"


def test_a_check_over_http(client, collection):
    ids = collection.look.view().ids.tolist()
    assert client.get(f"{API}/models/1/check").status_code == 404
    collection.mark(collection.query(ids[0]), ids[1:3])
    collection.mark(collection.query(ids[0]), ids[3:5], relevant=False)
    model = collection.learn().id
    none = client.get(f"{API}/models/{model}/check").json()
    assert (none["item"], none["items"], none["done"], none["size"]) == (None, [], 0, 12)
    assert "fewer than 100 photos" in none["sentence"]
    # As if it were larger: two searches to ask about.
    asked = {"new": [ids[8]], "old": [ids[9]], "first": [], "share": 0.5, "items": ids[8:10]}
    collection.store.looks.draw(model, [Drawn(ids[6], asked), Drawn(ids[7], asked)])
    first = client.get(f"{API}/models/{model}/check").json()
    assert first["item"]["item"] == ids[6]
    assert [one["item"] for one in first["items"]] == ids[8:10]
    body = {"item": ids[6], "right": [ids[8]], "person": "Ada"}
    head = {"Idempotency-Key": "one-answer"}
    second = client.post(f"{API}/models/{model}/check", json=body, headers=head)
    assert second.status_code == 200, second.text
    second = second.json()
    assert (second["done"], second["item"]["item"]) == (1, ids[7])
    again = client.post(f"{API}/models/{model}/check", json=body, headers=head).json()
    assert again == second
    said = collection.teaching.marks(collection.query(ids[6]))
    assert said == {ids[8]: 1.0, ids[9]: 0.0}
    end = client.post(f"{API}/models/{model}/check", json={"item": ids[7], "skip": True}).json()
    assert (end["done"], end["item"]) == (1, None)
    for wrong, status in (({"item": ids[0]}, 404), ({"item": ids[7], "right": [ids[0]]}, 422)):
        answer = client.post(f"{API}/models/{model}/check", json=wrong)
        assert answer.status_code == status
        assert "does not ask about picture" in answer.json()["detail"]
    assert not collection.models.all_active()
    assert client.get(f"{API}/teach/next").json()["new"]
