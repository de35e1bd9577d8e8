"""An answer that comes late: what the page learned since, or where the person went, stands."""

from __future__ import annotations

import base64

import pytest

from tests.browser.conftest import PATIENCE, Held
from tests.browser.test_board import begin, drag, moved, piece, shown, visit, wait_round
from tests.browser.test_search import DROP

BOARD = "**/api/v1/sessions/*?round=*"


def tell_of_changes(served) -> None:
    """Any job that ends makes every page look again."""
    served.api("/jobs", {"kind": "index"})


def test_the_board_asked_for_before_does_not_come_back_over_the_next_round(page, served):
    begin(page, served)
    boards = Held(page, BOARD, most=1)
    tell_of_changes(served)
    boards.wait()
    page.keyboard.press("g")
    wait_round(page, 2)
    boards.let_go()
    assert "Round 2 " in page.locator(".rests").inner_text()


def test_a_board_asked_for_before_a_step_does_not_take_the_step_back(page, served):
    board = begin(page, served)
    a = shown(board)[0]
    boards = Held(page, BOARD, answered=True, most=1)
    tell_of_changes(served)
    boards.wait()
    with page.expect_response("**/steps"):
        drag(page, a, 0.5, 0.3)
    boards.let_go()
    assert moved(page) == [a]


def test_what_changed_is_seen_although_a_step_overtook_it(page, served):
    board = begin(page, served)
    a, b = shown(board)[:2]
    boards = Held(page, BOARD, answered=True, most=1)
    name = next(p["name"] for p in board["pictures"] if p["item"] == b)
    (served.folder / name).rename(served.folder.parent / name)
    tell_of_changes(served)
    boards.wait()
    with page.expect_response("**/steps"):
        drag(page, a, 0.5, 0.3)
    boards.let_go()
    piece(page, b).wait_for(state="detached")
    assert moved(page) == [a]
    (served.folder.parent / name).rename(served.folder / name)
    tell_of_changes(served)


def test_the_way_back_is_not_lost_to_an_answer_for_the_board_before(page, served):
    begin(page, served)
    page.keyboard.press("g")
    wait_round(page, 2)
    page.keyboard.press("g")
    wait_round(page, 3)
    boards = Held(page, BOARD, most=1)
    page.locator(".rounds button").nth(0).click()
    boards.wait()
    page.locator(".rounds button").nth(1).click()
    wait_round(page, 2)
    boards.let_go()
    assert "Round 2 " in page.locator(".rests").inner_text()


def test_a_next_round_does_not_carry_off_who_went_to_another_one(page, served):
    board = begin(page, served)
    page.keyboard.press("g")
    wait_round(page, 2)
    going = Held(page, "**/api/v1/sessions/*/next")
    page.keyboard.press("g")
    going.wait()
    page.locator(".rounds button").nth(0).click()
    wait_round(page, 1)
    going.let_go()
    page.wait_for_selector(".rounds li:nth-child(3)")  # it is there to go to
    assert "Round 1 " in page.locator(".rests").inner_text()
    assert page.url.endswith(f"round={board['round']}")


def next_round(page, served) -> None:
    begin(page, served)
    page.keyboard.press("g")


def first_board(page, served) -> None:
    visit(page, served)
    page.get_by_role("button", name="Closest: ").nth(2).click()


def search_left_open(page, served) -> None:
    board = served.api("/sessions", {"shown": 14, "query": {"examples": [{"item": 5}]}})
    visit(page, served, f"session={board['session']}")


def results_as_a_board(page, served) -> None:
    page.goto(f"{served.base}/results?like=5&fold=0&view=board&token={served.token}")
    page.wait_for_selector(".piece.query img")
    page.locator(".piece:not(.query)").nth(5).focus()
    page.keyboard.press("p")


def next_query(page, served) -> None:
    page.goto(f"{served.base}/teach?item=5&token={served.token}")
    page.wait_for_selector(".candidate img")
    page.get_by_role("button", name="Another photo").click()


def own_photo(page, served) -> None:
    page.goto(f"{served.base}/jobs?token={served.token}")
    page.wait_for_selector(".problems")
    data = base64.b64encode((served.folder / "swatch-0003.jpg").read_bytes() + b"\2").decode()
    page.evaluate(DROP, [data, "mine.jpg", "drop"])


@pytest.mark.parametrize(
    ("act", "address", "method"),
    [
        (next_round, "**/api/v1/sessions/*/next", "POST"),
        (first_board, "**/api/v1/sessions", "POST"),
        (search_left_open, "**/api/v1/sessions/*", "GET"),
        (results_as_a_board, "**/api/v1/sessions", "POST"),
        (next_query, "**/api/v1/teach/next?skip=*", "GET"),
        (own_photo, "**/api/v1/uploads", "POST"),
    ],
)
def test_who_left_the_screen_is_not_fetched_back(page, served, act, address, method):
    asked = Held(page, address, method=method)
    act(page, served)
    asked.wait()
    page.locator("header .brand").click()
    page.wait_for_selector(".home")
    asked.let_go()
    assert page.locator(".home").count() == 1
    assert page.evaluate("location.pathname") == "/"


def test_older_news_do_not_replace_newer_ones_in_a_list(page, served):
    lists = Held(page, "**/api/v1/judgements?limit=20*", answered=True, most=1)
    page.goto(f"{served.base}/teach?item=7&token={served.token}")
    page.wait_for_selector(".candidate img")
    lists.wait()
    page.keyboard.press("y")
    page.locator("summary", has_text="Your feedback (1)").wait_for()
    lists.let_go()
    assert page.locator("summary", has_text="Your feedback (1)").count() == 1


def test_a_state_asked_for_before_the_news_is_asked_for_again(page, served):
    findable = served.api("/status")["findable"]
    states = Held(page, "**/api/v1/status", answered=True, most=1)
    page.goto(f"{served.base}/jobs?token={served.token}")
    states.wait()
    one = (served.folder / "swatch-0001.jpg").read_bytes()
    (served.folder / "another.jpg").write_bytes(one + b"another")
    page.get_by_role("button", name="Look for new pictures").click()
    page.locator(".job.done", has_text="1 new picture").wait_for()
    states.let_go()
    page.locator("header .brand").click()
    page.wait_for_selector(f"text={findable + 1} photos can be found")


@pytest.mark.slow
def test_a_map_that_is_drawn_before_the_answer_comes_is_not_waited_for(page, served):
    drawing = Held(page, "**/api/v1/map", answered=True, method="POST")
    page.goto(f"{served.base}/?view=map&token={served.token}")
    page.wait_for_selector(".map-host", timeout=4 * PATIENCE)  # drawn by a process that gives way
    drawing.let_go()
    assert page.locator(".map-wait").count() == 0


def test_two_quick_steps_on_the_board_of_results_begin_one_search(page, served):
    before = len(served.api("/sessions?limit=200")["sessions"])
    begun = Held(page, "**/api/v1/sessions", method="POST")
    results_as_a_board(page, served)
    begun.wait()
    page.locator(".piece:not(.query)").nth(6).focus()
    page.keyboard.press("p")
    begun.let_go()
    page.wait_for_url("**/target?session=*")
    page.wait_for_selector(".piece img")
    assert len(served.api("/sessions?limit=200")["sessions"]) == before + 1
