"""Target search over HTTP: every step is on the disk at once, and nothing is lost by a restart."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from likewise.session.holdings import rows_of
from tests.server.conftest import Server, ids, picture

API = "/api/v1"


def begin(client, **asked):
    answer = client.post(f"{API}/sessions", json={"shown": 8, **asked})
    assert answer.status_code == 201, answer.text
    return answer.json()


def from_item(client, item=None, **more):
    return begin(client, query={"examples": [{"item": item or 2}]}, **more)


def act(client, board, kind, *items, status=201, key=None, **more):
    body = {"round": board["round"], "kind": kind, "items": list(items), **more}
    headers = {"Idempotency-Key": key} if key else {}
    answer = client.post(f"{API}/sessions/{board['session']}/steps", json=body, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json() if status != 201 else answer.json()["draft"]


def move(client, board, places, **more):
    named = {str(item): list(place) for item, place in places.items()}
    return act(client, board, "move", places=named, **more)


def post(client, board, what, status=None, **more):
    body = {"round": board["round"], **more}
    answer = client.post(f"{API}/sessions/{board['session']}/{what}", json=body)
    if status is not None:
        assert answer.status_code == status, answer.text
    else:
        assert answer.is_success, answer.text
    return answer.json()


def look(client, board, **params):
    return client.get(f"{API}/sessions/{board['session']}", params=params).json()


def shown(board):
    return [p["item"] for p in board["pictures"]]


# Beginning


def test_a_search_begins_with_representatives_a_hundred_words_or_a_picture(client, folder):
    everything = begin(client)
    assert len(everything["pictures"]) == 8
    assert everything["query"] is None
    assert not everything["has_centre"]
    assert len(begin(client, begin="random")["pictures"]) == 40
    named = begin(client, query={"text": "swatch"})
    assert len(named["pictures"]) == 8
    assert named["origin"]["text"] == "swatch"
    like = from_item(client, 3)
    assert like["query"]["item"] == 3
    assert 3 not in shown(like)
    upload = client.post(f"{API}/uploads", content=picture(folder, 5)).json()["upload"]
    own = begin(client, query={"examples": [{"upload": upload}]})
    assert own["has_centre"]
    assert own["query"] is None
    assert own["origin"]["examples"][0]["upload"] == upload
    both = begin(client, query={"examples": [{"item": 3}, {"item": 4}]})
    assert both["has_centre"]
    listed = client.get(f"{API}/sessions").json()["sessions"]
    assert [s["state"] for s in listed] == ["open"] * 6


def test_a_list_of_results_is_tried_out_without_a_record_and_begins_the_same(client, collection):
    items = ids(collection)[:12]
    asked = {"query": {"examples": [{"item": items[0]}]}, "first": items[1:]}
    tried = client.post(f"{API}/boards", json=asked).json()
    assert (tried["session"], tried["round"]) == (0, 0)
    assert collection.store.sessions.all() == []
    begun = begin(client, **asked)
    assert tried["pictures"] == begun["pictures"]
    assert shown(begun) == items[1:]
    assert all(0 <= p["x"] <= 1 and 0 <= p["y"] <= 1 for p in begun["pictures"])


def test_a_choice_among_the_first_is_a_round(client, collection):
    items = ids(collection)[:10]
    board = begin(client, first=items, choose=items[4])
    assert board["query"]["item"] == items[4]
    assert board["depth"] == 1
    assert len(board["rounds"]) == 2
    refused = client.post(f"{API}/sessions", json={"first": items, "choose": items[-1] + 1})
    assert refused.status_code == 422


def test_what_a_search_cannot_begin_with(client, collection):
    for asked, status in (
        ({"query": {"text": "nothing is called this"}}, 404),
        ({"query": {"examples": [{"item": 999}]}}, 404),
        ({"query": {"examples": [{"item": 3, "weight": -1}]}}, 422),
        ({"first": [999]}, 422),
        ({"shown": 1000}, 422),
        ({"begin": "anyhow"}, 422),
        ({"way": "anyhow"}, 422),
    ):
        answer = client.post(f"{API}/sessions", json=asked)
        assert answer.status_code == status, (asked, answer.text)
        assert collection.store.sessions.all() == []


def test_a_search_goes_the_paper_s_way_on_a_grid(client, collection):
    board = begin(client, query={"examples": [{"item": 3}]}, way="paper", layout="grid")
    places = [(p["x"], p["y"]) for p in board["pictures"]]
    assert len(set(places)) == len(places)
    assert len({x for x, _ in places}) <= 3  # nine cells: eight pictures around the query
    near, middle, far = shown(board)[:3]
    move(client, board, {near: (0.5, 0.4), middle: (0.5, 0.2), far: (0.5, 0.0)})
    after = post(client, board, "next")
    search = collection.targets.resume(board["session"])
    assert not search.settings.use_filter
    held, items = collection.targets.holdings(), search.board.shown
    vectors = held.vectors[rows_of(held, [3, *items])]
    gaps = np.square(vectors[1:] - vectors[0]) @ search.board.weights
    assert shown(after) == list(items)
    assert (np.diff(gaps) > -1e-6).all()


# Steps


def test_steps_make_a_draft_that_a_restart_keeps(client, server, collection):
    board = from_item(client)
    a, b, c, d, e, *_ = shown(board)
    move(client, board, {a: (0.5, 0.4), b: (0.5, 0.2)}, seconds=2.5)
    act(client, board, "discard", c)
    act(client, board, "aside", d)
    draft = act(client, board, "pin", e)
    assert draft["moved"] == {str(a): [0.5, 0.4], str(b): [0.5, 0.2]}
    assert (draft["discarded"], draft["aside"], draft["pinned"]) == ([c], [d], [e])
    assert act(client, board, "query", a)["moved"] == {str(b): [0.5, 0.2]}
    assert look(client, board)["draft"]["query"] == a
    with Server(collection).running() as another:  # what a restarted server knows
        headers = {"Authorization": f"Bearer {another.access.token}"}
        with another.client(**headers) as fresh:
            found = look(fresh, board)
            assert found["draft"] == look(client, board)["draft"]
            assert found["round"] == board["round"]
            assert shown(post(fresh, found, "next"))[0] == e  # pinned


def test_undo_takes_steps_back_one_by_one_and_then_goes_to_the_board_before(client):
    first = from_item(client)
    a, b, *_ = shown(first)
    move(client, first, {a: (0.5, 0.4)})
    act(client, first, "discard", b)
    second = post(client, first, "next")
    back = post(client, second, "undo")
    assert back["round"] == first["round"]
    assert back["draft"]["discarded"] == [b]
    assert post(client, back, "undo")["draft"]["discarded"] == []
    assert post(client, back, "undo")["draft"]["moved"] == {}
    assert "nothing to undo" in post(client, back, "undo", status=422)["detail"]
    assert look(client, first)["round"] == first["round"]  # a reload stays there
    branch = post(client, back, "next")
    assert branch["depth"] == second["depth"]
    parents = {r["round"]: r["parent"] for r in branch["rounds"]}
    assert parents[branch["round"]] == parents[second["round"]] == first["round"]


def test_a_step_sent_twice_counts_once_and_any_round_can_be_gone_on_from(client, collection):
    first = from_item(client)
    a, b, c, *_ = shown(first)
    for _ in range(2):
        act(client, first, "pin", a, key="the-very-same-step")
    assert len(collection.store.sessions.steps(first["session"])) == 1
    second = post(client, first, "next")
    # another tab still shows the first board: what is done there is kept with it
    assert move(client, first, {b: (0.5, 0.3), c: (0.1, 0.1)})["pinned"] == [a]
    assert look(client, first)["round"] == first["round"]
    assert look(client, first, round=second["round"])["draft"]["moved"] == {}


def test_moves_teach_the_metric(client):
    board = from_item(client, 5)
    before = board["shares"]
    places = {p["item"]: (0.5, 0.45 - 0.04 * n) for n, p in enumerate(board["pictures"])}
    move(client, board, places)
    after = post(client, board, "next")
    assert look(client, board)["round"] == after["round"]
    assert after["shares"] != before
    assert sum(after["shares"].values()) == pytest.approx(1)
    assert not set(shown(after)) & set(shown(board))


def test_naming_the_next_closest_says_more_than_a_choice(client, collection):
    board = from_item(client, 3)
    first, second, third = shown(board)[:3]
    act(client, board, "query", items=[first])
    draft = act(client, board, "close", items=[second, third])
    assert draft["close"] == [second, third]
    named = post(client, board, "next")
    asked = collection.sessions.round(named["round"]).payload["asked"]
    assert [items[0] for items in asked["closer"]] == [second, third]
    assert first not in asked["closer"][0]
    assert second not in asked["closer"][1]
    search = collection.targets.resume(board["session"])
    assert len(search._branch(search.board.round).choices) == 3


def test_another_hundred_shows_others(client, collection):
    board = begin(client)
    other = post(client, board, "hundred")
    assert set(shown(other)) == set(ids(collection)) - set(shown(board))
    assert "Every item" in post(client, other, "hundred")["notes"][0]


def test_steps_that_cannot_be(client, collection):
    board = from_item(client, 2, shown=40)
    for body in (
        {"kind": "move"},
        {"kind": "move", "places": {"3": [0.5, 1.2]}},
        {"kind": "move", "places": {"2": [0.5, 0.5]}},
        {"kind": "move", "places": {"999": [0.5, 0.5]}},
        {"kind": "pin"},
        {"kind": "pin", "items": [999]},
        {"kind": "query", "items": [3, 4]},
        {"kind": "discard", "items": [3], "places": {"4": [0.1, 0.1]}},
        {"kind": "give_up", "items": [3]},
        {"kind": "dance", "items": [3]},
        {"kind": "pin", "items": [3], "seconds": -1},
    ):
        answer = client.post(
            f"{API}/sessions/{board['session']}/steps", json={"round": board["round"], **body}
        )
        assert answer.status_code == 422, (body, answer.text)
    assert collection.store.sessions.steps(board["session"]) == []


def test_rounds_of_other_sessions_and_unknown_ones_are_refused(client):
    one, two = from_item(client, 2), from_item(client, 3)
    assert client.get(f"{API}/sessions/99").status_code == 404
    assert client.get(f"{API}/sessions/1", params={"round": 99}).status_code == 404
    assert post(client, {**one, "round": two["round"]}, "next", status=422)


def test_a_deleted_picture_leaves_the_board_and_says_nothing_more(client, server, collection):
    board = from_item(client)
    a, b, c, *_ = shown(board)
    move(client, board, {a: (0.5, 0.4), b: (0.5, 0.3), c: (0.9, 0.9)})
    act(client, board, "pin", b)
    collection.forget([b])
    server.app.app.state.served.collection.refresh()
    now = look(client, board)
    assert now["gone"] == 1
    assert b not in shown(now)
    assert set(now["draft"]["moved"]) == {str(a), str(c)}
    assert now["draft"]["pinned"] == []
    assert "not on this board" in act(client, board, "pin", b, status=422)["detail"]
    assert b not in shown(post(client, board, "next"))


# The end


def taught(client):
    board = from_item(client)
    a, b, d, *_ = shown(board)
    move(client, board, {a: (0.5, 0.4), b: (0.5, 0.2)})
    act(client, board, "discard", d)
    return post(client, board, "next"), (a, b, d)


def test_a_kept_search_teaches_others(client, collection):
    board, (a, b, d) = taught(client)
    target = shown(board)[0]
    assert act(client, board, "found", target)["ending"] == "found"
    assert look(client, board)["draft"]["target"] == target
    ended = post(client, board, "end", found=target, keep=True)
    assert (ended["judgements"], ended["found"]["item"]) == (2, target)
    records = list(collection.store.judgements.records(kind="ordering"))
    paths = collection.store.items.paths([a, b, d])
    assert [len(r.judgement.items) for r in records] == [2, 2]
    assert len(paths) == 3
    assert look(client, board)["outcome"]["kept"] is True
    assert "has ended" in act(client, board, "pin", target, status=422)["detail"]
    assert "ended" in post(client, board, "next", status=422)["detail"]
    assert "ended" in post(client, board, "end", status=422)["detail"]


def test_a_search_that_is_not_kept_teaches_nobody(client, collection):
    board, _ = taught(client)
    assert act(client, board, "give_up")["ending"] == "give up"
    assert post(client, board, "end")["judgements"] == 0
    assert len(collection.store.judgements) == 0
    state = client.get(f"{API}/sessions", params={"state": "abandoned"}).json()["sessions"]
    assert [s["session"] for s in state] == [board["session"]]
    assert state[0]["outcome"]["kept"] is False


def test_a_target_that_is_not_there_ends_nothing(client):
    board = from_item(client)
    assert post(client, board, "end", status=404, found=999)
    assert look(client, board)["state"] == "open"


def test_times_are_exported_as_csv(client):
    board = from_item(client, person="=cmd()")
    move(client, board, {shown(board)[0]: (0.5, 0.3)}, seconds=1.25)
    post(client, board, "next", seconds=3.5)
    from_item(client)
    answer = client.get(f"{API}/steps.csv", params={"session": board["session"]})
    assert "attachment" in answer.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [r["kind"] for r in rows] == ["board", "move", "board", "next"]
    assert [r["seconds"] for r in rows if r["step"]] == ["1.25", "3.5"]
    assert float(rows[2]["match"]) > 0
    assert {r["person"] for r in rows} == {"'=cmd()"}
    every = list(csv.DictReader(io.StringIO(client.get(f"{API}/steps.csv").text)))
    assert {r["session"] for r in every} == {"1", "2"}
    assert client.get(f"{API}/steps.csv", params={"session": 99}).status_code == 404
