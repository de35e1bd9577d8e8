"""Target search in the page: arrange pictures by drag, key or button, round by round."""

from __future__ import annotations

import csv
import os

import pytest

from experiments.board_person import number, seen_part
from likewise.datasets import swatches
from tests.browser.conftest import PATIENCE, Held, drawer, menu, violations

LOST = ("ERR_CONNECTION", "ERR_INCOMPLETE", "ERR_EMPTY", "Failed to load resource", "net::ERR")
TRUTH = swatches(80, size=96, seed=3).truth


def begin(page, served, **asked) -> dict:
    """A search begun over HTTP and opened in the page."""
    asked.setdefault("query", {"examples": [{"item": 5}]})
    board = served.api("/sessions", {"shown": 14, **asked})
    visit(page, served, f"session={board['session']}")
    page.wait_for_selector(".piece img, .row img, .gallery img")
    return board


def visit(page, served, search: str = "") -> None:
    page.goto(f"{served.base}/target?{search}&token={served.token}")


def stored(served, board, **params) -> dict:
    more = "".join(f"?{name}={value}" for name, value in params.items())
    return served.api(f"/sessions/{board['session']}{more}")


def saved(page, served, board, check) -> dict:
    """The draft on the server, once it is as it should be."""
    for _ in range(PATIENCE // 50):
        draft = stored(served, board)["draft"]
        if check(draft):
            return draft
        page.wait_for_timeout(50)
    raise AssertionError(draft)


def piece(page, item: int):
    return page.locator(f'.piece[data-item="{item}"]')


def centre(page, item: int) -> tuple[float, float]:
    box = piece(page, item).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def still(page) -> None:
    """Wait until nothing glides any more."""
    page.wait_for_timeout(100)
    page.evaluate(
        "Promise.all(document.getAnimations().map(a => a.finished.catch(() => null))).then(() => 1)"
    )


def drag(page, item: int, x: float, y: float, *, drop: bool = True) -> None:
    """Drag a picture to a place on the board, given as shares of its sides."""
    still(page)
    box = page.locator(".board").bounding_box()
    middle = centre(page, item)
    held = seen_part(page, str(item), piece(page, item).bounding_box())
    page.mouse.move(*held)
    page.mouse.down()
    to = box["x"] + x * box["width"], box["y"] + y * box["height"]
    page.mouse.move(to[0] + held[0] - middle[0], to[1] + held[1] - middle[1], steps=5)
    if drop:
        page.mouse.up()


def wait_round(page, depth: int) -> None:
    page.wait_for_selector(f'.rests:has-text("Round {depth} ")')


def shown(board) -> list[int]:
    return [p["item"] for p in board["pictures"]]


ORDER = """() => [...document.querySelectorAll(".piece.moved")]
  .map((p) => [Number(p.querySelector(".rank").textContent), Number(p.dataset.item)])
  .sort((a, b) => a[0] - b[0]).map((pair) => pair[1])"""


def moved(page) -> list[int]:
    """The moved pictures from nearest to farthest, by the numbers that they show."""
    return page.evaluate(ORDER)


def ranked(page, *items: int) -> None:
    """Wait until these pictures, and no others, are numbered in this order."""
    for _ in range(PATIENCE // 50):
        if moved(page) == list(items):
            return
        page.wait_for_timeout(50)
    assert moved(page) == list(items)


# The start


def test_a_search_begins_with_the_closest_of_the_representatives(page, served):
    visit(page, served)
    page.wait_for_selector(".gallery .picture img")
    page.get_by_label("Photos on a board").select_option("20")
    page.get_by_role("button", name="Closest: ").nth(2).click()
    wait_round(page, 2)
    page.wait_for_selector(".piece.query img")
    assert page.locator(".piece:not(.query)").count() == 20
    assert "session=" in page.url
    assert "round=" in page.url
    assert page.locator(".rounds li").count() == 2


def test_another_sample_and_another_and_words_and_an_own_picture(page, served):
    visit(page, served)
    page.get_by_role("button", name="Another sample").click()
    wait_round(page, 1)
    assert page.locator(".gallery .picture").count() == 80  # all there are
    page.get_by_role("button", name="Another sample").click()
    page.wait_for_selector("text=Every item has been shown")
    page.goto(f"{served.base}/target")
    page.get_by_label("Begin with words").fill("swatch")
    page.get_by_role("button", name="Begin", exact=True).click()
    page.wait_for_selector(".gallery .picture img")
    page.goto(f"{served.base}/target")
    page.wait_for_selector(".gallery .picture img")
    page.set_input_files('.begin input[type="file"]', served.folder / "swatch-0007.jpg")
    page.wait_for_selector("img.piece.own")
    page.wait_for_selector(".piece img")
    assert page.locator(".piece.own").count() == 1


# Drags


def test_colours_dragged_close_make_colour_count_more(page, served):
    colours, motifs = TRUTH["colour"].tolist(), TRUTH["motif"].tolist()
    wanted = "pink"
    listed = served.api("/items?limit=200&state=indexed")["items"]
    items = {number(i["name"]): i["item"] for i in listed}
    own, *same = [n for n in items if colours[n] == wanted]
    others = [n for n in items if colours[n] != wanted]
    others.sort(key=lambda n: motifs[n] != motifs[own])  # those of the query's motif first
    near, far = same[:2], others[:6]
    first = [items[n] for n in (*near, *others[:17])]
    board = begin(page, served, query={"examples": [{"item": items[own]}]}, first=first)
    for at, n in enumerate(near):
        drag(page, items[n], 0.5, 0.35 - 0.05 * at)
    for at, n in enumerate(far):
        drag(page, items[n], 0.5 + 0.08 * at, 0.95)
    ranked(page, *(items[n] for n in (*near, *far)))
    page.get_by_role("button", name="Next round").click()
    wait_round(page, 2)
    after = stored(served, board)
    assert after["shares"]["colour"] > board["shares"]["colour"] + 0.05
    said = " ".join(page.locator(".favours-names").inner_text().split())
    assert said == after["words"].replace(",", "")
    # what comes next has more of the colour than what is left has
    fresh = [number(p["name"]) for p in after["pictures"]]
    left = [n for n in items if items[n] not in (items[own], *first)]

    def share(of):
        return sum(colours[n] == wanted for n in of) / len(of)

    assert share(fresh) > share(left) > 0


def test_rings_show_the_order_before_the_picture_is_let_go(page, served):
    board = begin(page, served)
    a, b, c = shown(board)[:3]
    drag(page, a, 0.5, 0.3)
    drag(page, b, 0.5, 0.85)
    ranked(page, a, b)
    drag(page, c, 0.5, 0.42, drop=False)
    assert page.locator(".rings circle.now").count() == 1
    ranked(page, c, a, b)
    page.keyboard.press("Escape")  # let go of it after all
    page.mouse.up()
    ranked(page, a, b)
    saved(page, served, board, lambda d: set(d["moved"]) == {str(a), str(b)})


def test_several_are_lassoed_and_dragged_together(page, served):
    board = begin(page, served)
    still(page)
    box = page.locator(".board").bounding_box()
    left, top, side = box["x"], box["y"], box["width"]
    inside = {p["item"] for p in board["pictures"] if p["x"] < 0.455 and p["y"] < 0.455}
    assert len(inside) >= 2
    free = "([x, y]) => !document.elementFromPoint(x, y).closest('.piece')"
    edge = [(left + 0.006 * side, top + (0.06 + 0.01 * n) * side) for n in range(38)]
    page.mouse.move(*next(spot for spot in edge if page.evaluate(free, list(spot))))
    page.mouse.down()
    for x, y in ((-0.01, -0.01), (0.46, -0.01), (0.46, 0.46), (-0.01, 0.46)):
        page.mouse.move(left + x * side, top + y * side, steps=4)
    page.mouse.up()
    picked = page.locator(".piece.picked").evaluate_all("all => all.map(p => +p.dataset.item)")
    assert set(picked) == inside
    before = {item: centre(page, item) for item in inside}
    one = min(inside)
    drag(page, one, 0.8, 0.8)
    draft = saved(page, served, board, lambda d: len(d["moved"]) == len(inside))
    assert set(draft["moved"]) == {str(item) for item in inside}
    still(page)
    middle = centre(page, one)
    shift = middle[0] - before[one][0], middle[1] - before[one][1]
    for item in inside:  # all by the same way, as far as the board reaches
        x, y = centre(page, item)
        assert x - before[item][0] == pytest.approx(shift[0], abs=0.4 * side)
        assert (x - before[item][0]) > 0
        assert (y - before[item][1]) > 0


def test_a_drag_that_ends_outside_lands_at_the_edge(page, served):
    board = begin(page, served)
    a, b = shown(board)[:2]
    drag(page, a, 1.6, -0.4)
    drag(page, b, 0.5, 0.3)
    draft = saved(page, served, board, lambda d: len(d["moved"]) == 2)
    assert all(0 <= side <= 1 for side in draft["moved"][str(a)])
    ranked(page, b, a)
    frame, box = page.locator(".board").bounding_box(), piece(page, a).bounding_box()
    assert box["x"] + box["width"] / 2 < frame["x"] + frame["width"]
    assert box["y"] + box["height"] / 2 > frame["y"]


# Keys and buttons


def test_a_search_by_keys_alone_ends_with_found_it(page, served):
    visit(page, served)
    page.wait_for_selector(".gallery .picture img")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("q")
    wait_round(page, 2)
    page.wait_for_selector(".piece.query")
    page.keyboard.press("ArrowRight")  # to the board
    page.keyboard.press("ArrowRight")
    page.keyboard.press("c")
    page.wait_for_selector(".piece.moved")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("f")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("p")
    page.wait_for_selector(".piece .pin")
    page.keyboard.press("g")
    wait_round(page, 3)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("i")
    page.wait_for_selector("dialog.ending[open]")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".viewer .zoom .whole")  # the end is the photo, large
    box = page.locator(".viewer .zoom .whole").bounding_box()
    assert max(box["width"], box["height"]) >= 600
    told = page.locator(".viewer aside").inner_text()
    assert "Download" in told
    page.keyboard.press("Escape")
    page.wait_for_selector("text=Nobody learns from this search")
    assert page.get_by_role("heading", name="Found in 3 rounds").count() == 1
    number_of = int(page.url.partition("session=")[2].partition("&")[0])
    ended = served.api(f"/sessions/{number_of}")
    assert ended["state"] == "finished"
    found = served.api(f"/items/{ended['outcome']['found']}")
    assert focused.startswith(found["name"])


def test_closer_always_passes_the_next_and_is_announced(page, served):
    board = begin(page, served)
    a, b, c = shown(board)[:3]
    for item in (a, b, c):
        piece(page, item).focus()
        page.keyboard.press("f")
    worst = moved(page)[2]
    piece(page, worst).focus()
    page.keyboard.press("c")
    page.keyboard.press("c")
    assert moved(page)[0] == worst
    assert "1st nearest of 3 moved" in page.locator(".arena > [role=status]").inner_text()
    assert "1st nearest of 3 moved" in piece(page, worst).get_attribute("aria-label")
    page.keyboard.press("d")  # it leaves, and the nearest one left has the keyboard
    page.keyboard.press("d")
    draft = saved(page, served, board, lambda now: len(now["discarded"]) == 2)
    assert draft["discarded"][0] == worst


def test_pin_discard_not_this_and_put_back(page, served):
    board = begin(page, served)
    a, b, c, d = shown(board)[:4]
    for item, button in ((a, "Pin"), (b, "Discard"), (c, "Not this")):
        piece(page, item).focus()
        page.locator(".at-hand-panel").get_by_role("button", name=button).click()
    assert piece(page, b).count() == 0
    assert piece(page, c).count() == 0
    draft = saved(page, served, board, lambda now: now["aside"] == [c])
    assert (draft["pinned"], draft["discarded"]) == ([a], [b])
    page.get_by_role("button", name="Put", exact=False).first.click()
    saved(page, served, board, lambda now: now["discarded"] == [])
    assert piece(page, b).count() == 1
    drag(page, d, 0.5, 0.35)
    page.get_by_role("button", name="Next round").click()
    wait_round(page, 2)
    after = stored(served, board)
    assert shown(after)[0] == a
    assert not {b, c, d} & set(shown(after))
    assert page.locator(".piece .pin").count() == 1


def test_another_query_takes_the_middle(page, served):
    board = begin(page, served)
    a = shown(board)[3]
    piece(page, a).focus()
    page.keyboard.press("q")
    page.wait_for_selector(f'.piece.query[data-item="{a}"]')
    assert not piece(page, board["query"]["item"]).evaluate("p => p.classList.contains('query')")
    page.keyboard.press("g")
    wait_round(page, 2)
    assert stored(served, board)["query"]["item"] == a


def test_the_list_does_what_the_board_does(page, served):
    board = begin(page, served)
    a, b = shown(board)[:2]
    page.get_by_role("button", name="As a list").click()
    rows = page.get_by_role("list", name="Board")
    rows.wait_for()
    names = {p["item"]: p["name"] for p in board["pictures"]}
    page.get_by_role("button", name=f"Farther: {names[a]}").click()
    page.get_by_role("button", name=f"Closer: {names[b]}").click()
    page.get_by_role("button", name=f"Closer: {names[b]}").click()
    draft = saved(page, served, board, lambda d: len(d["moved"]) == 2)
    page.get_by_role("button", name="As a board").click()
    page.wait_for_selector(".piece.moved")
    ranked(page, b, a)
    assert set(draft["moved"]) == {str(a), str(b)}


# Undo, branches, reload, restart, tabs


def test_undo_and_a_branch_from_any_round(page, served):
    board = begin(page, served)
    a, b, c = shown(board)[:3]
    drag(page, a, 0.5, 0.35)
    drag(page, b, 0.5, 0.9)
    page.keyboard.press("u")
    saved(page, served, board, lambda d: set(d["moved"]) == {str(a)})
    ranked(page, a)
    page.keyboard.press("g")
    wait_round(page, 2)
    page.keyboard.press("g")
    wait_round(page, 3)
    page.keyboard.press("u")  # nothing was done here: back to the board before
    wait_round(page, 2)
    page.locator(".rounds button").first.click()
    wait_round(page, 1)
    page.wait_for_selector(".piece.moved")  # as it was left
    piece(page, c).focus()
    page.keyboard.press("q")
    page.keyboard.press("g")
    wait_round(page, 2)
    page.wait_for_selector(".rounds li.branched")
    found = stored(served, board)
    assert [r["depth"] for r in found["rounds"]] == [0, 1, 2, 1]
    assert found["rounds"][-1]["parent"] == found["rounds"][0]["round"]
    page.go_back()
    wait_round(page, 1)


def test_a_reload_in_the_middle_goes_on_with_the_round(page, served):
    board = begin(page, served)
    a, b, c = shown(board)[:3]
    drag(page, a, 0.5, 0.3)
    drag(page, b, 0.8, 0.8)
    piece(page, c).focus()
    page.keyboard.press("d")
    saved(page, served, board, lambda d: d["discarded"] == [c])
    before = moved(page)
    page.reload()
    page.wait_for_selector(".piece.moved")
    ranked(page, *before)
    assert piece(page, c).count() == 0
    visit(page, served)  # and the start offers to go on
    page.get_by_role("link", name=f"search {board['session']} ").click()
    page.wait_for_selector(".piece.moved")
    ranked(page, *before)


def test_a_restart_in_the_middle_loses_nothing(page, fresh, faults):
    faults.allowed = LOST
    board = begin(page, fresh)
    a, b = shown(board)[:2]
    drag(page, a, 0.5, 0.3)
    saved(page, fresh, board, lambda d: len(d["moved"]) == 1)
    fresh.kill()
    drag(page, b, 0.5, 0.8)  # while the server is away
    page.wait_for_selector(".banner")
    ranked(page, a, b)
    boards = Held(page, "**/api/v1/sessions/*?round=*")  # which the page asks for on the news
    fresh.start()
    page.wait_for_selector(".banner", state="detached", timeout=2 * PATIENCE)
    saved(page, fresh, board, lambda d: set(d["moved"]) == {str(a), str(b)})
    boards.wait()
    page.get_by_role("button", name="Next round").click()
    wait_round(page, 2)
    boards.let_go()  # and of the first round there is an answer only now
    wait_round(page, 2)
    assert not {a, b} & set(shown(stored(fresh, board)))


def test_a_slow_server_is_waited_for(page, served):
    page.clock.install()
    board = begin(page, served)
    a, b = shown(board)[:2]
    steps = Held(page, "**/api/v1/sessions/*/steps")
    drag(page, a, 0.5, 0.3)
    drag(page, b, 0.5, 0.8)
    steps.wait()
    page.get_by_role("button", name="Next round").click()
    page.wait_for_selector('.target[aria-busy="true"]')
    for _ in range(3):
        page.clock.fast_forward(11_000)
    assert page.locator('.target[aria-busy="true"]').count()
    assert not page.locator("text=does not answer").count()
    steps.let_go()
    wait_round(page, 2)
    assert not {a, b} & set(shown(stored(served, board)))


def test_two_tabs_in_one_search_lose_nothing(context, page, served):
    board = begin(page, served)
    a, b, c = shown(board)[:3]
    other = context.new_page()
    visit(other, served, f"session={board['session']}")
    other.wait_for_selector(".piece img")
    drag(page, a, 0.5, 0.3)
    other.wait_for_selector("text=open in another tab too")
    other.wait_for_selector(".piece.moved")
    drag(other, b, 0.5, 0.85)
    saved(page, served, board, lambda d: set(d["moved"]) == {str(a), str(b)})
    page.wait_for_selector(f'.piece.moved[data-item="{b}"]')
    page.get_by_role("button", name="Next round").click()
    wait_round(page, 2)
    other.wait_for_selector("text=went on in another tab")
    drag(other, c, 0.3, 0.3)
    for _ in range(PATIENCE // 50):
        draft = stored(served, board, round=board["round"])["draft"]
        if str(c) in draft["moved"]:
            break
        other.wait_for_timeout(50)
    assert set(draft["moved"]) == {str(a), str(b), str(c)}
    other.get_by_role("button", name="Go to where it went on").click()
    wait_round(other, 2)


def test_a_picture_deleted_meanwhile_leaves_the_board(page, fresh):
    board = begin(page, fresh)
    a, b = shown(board)[:2]
    drag(page, a, 0.5, 0.3)
    drag(page, b, 0.5, 0.8)
    saved(page, fresh, board, lambda d: len(d["moved"]) == 2)
    name = next(p["name"] for p in board["pictures"] if p["item"] == a)
    os.remove(fresh.folder / name)
    fresh.api("/jobs", {"kind": "index"})
    page.wait_for_selector("text=1 photo of this board is no longer in the collection")
    assert piece(page, a).count() == 0
    ranked(page, b)
    page.get_by_role("button", name="Next round").click()
    wait_round(page, 2)


# The end, times


def test_the_end_asks_whether_others_may_learn(page, served):
    judged = served.api("/judgements")["counting"]
    board = begin(page, served)
    a, b = shown(board)[:2]
    drag(page, a, 0.5, 0.35)
    drag(page, b, 0.5, 0.9)
    page.get_by_role("button", name="Next round").click()
    wait_round(page, 2)
    page.get_by_role("button", name="Give up").click()
    page.wait_for_selector("dialog.ending[open]")
    page.reload()
    page.wait_for_selector("dialog.ending[open]")  # the question is still open
    page.get_by_role("button", name="Go on searching").click()
    page.wait_for_selector("dialog.ending[open]", state="detached")
    page.locator(".piece:not(.query)").first.focus()
    page.keyboard.press("i")
    page.get_by_role("button", name="Yes, it may").click()
    page.wait_for_selector(".viewer[open]")
    page.go_back()
    page.wait_for_selector("text=Others may learn from this search")
    assert served.api("/judgements")["counting"] == judged + 1
    assert stored(served, board)["outcome"]["kept"]


def test_times_of_steps_can_be_exported(page, served, tmp_path):
    board = begin(page, served)
    a, b = shown(board)[:2]
    drag(page, a, 0.5, 0.35)
    drag(page, b, 0.5, 0.9)
    page.get_by_role("button", name="Next round").click()
    wait_round(page, 2)
    page.get_by_role("button", name="Give up").click()
    page.get_by_role("button", name="No, only end it").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Times as CSV").click()
    download.value.save_as(tmp_path / "steps.csv")
    with open(tmp_path / "steps.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [r["kind"] for r in rows] == [
        "board", "move", "move", "board", "next", "give_up", "end",
    ]  # fmt: skip
    assert all(float(r["seconds"]) > 0 for r in rows)
    assert {r["session"] for r in rows} == {str(board["session"])}


# Motion, widths, results, access


GLIDES = """window.glides = []; for (const end of ["transitionend", "animationend"])
  addEventListener(end, (event) => window.glides.push(event.elapsedTime)); void 0"""


def test_pictures_glide_for_at_most_400_ms(page, served):
    begin(page, served)
    still(page)
    page.evaluate(GLIDES)
    page.keyboard.press("g")
    wait_round(page, 2)
    for _ in range(PATIENCE // 50):  # the page's policy lets no string be evaluated in a loop
        if page.evaluate("window.glides.length"):
            break
        page.wait_for_timeout(50)
    still(page)
    assert max(page.evaluate("window.glides")) <= 0.4


def test_nothing_glides_where_motion_is_unwelcome(browser, served, faults):
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    faults.watch(page)
    board = begin(page, served)
    assert page.evaluate("document.getAnimations().length") == 0
    page.keyboard.press("g")
    wait_round(page, 2)
    assert page.evaluate("document.getAnimations().length") == 0
    assert len(stored(served, board)["rounds"]) == 2
    assert faults.unexpected == []
    context.close()


def test_on_a_phone_the_board_is_a_list_with_closer_and_farther(browser, served, faults):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    faults.watch(page)
    board = begin(page, served)
    assert page.locator(".board").count() == 0
    a, b = shown(board)[:2]
    names = {p["item"]: p["name"] for p in board["pictures"]}
    page.get_by_role("button", name=f"Farther: {names[a]}").tap()
    page.get_by_role("button", name=f"Closer: {names[b]}").tap()
    saved(page, served, board, lambda d: set(d["moved"]) == {str(a), str(b)})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Next round").tap()
    wait_round(page, 2)
    assert violations(page) == []
    assert faults.unexpected == []
    context.close()


def test_results_as_a_board_begin_a_search_by_a_drag(page, served):
    page.goto(f"{served.base}/results?like=5&fold=0&token={served.token}")
    page.wait_for_selector(".card img")
    open_before = len(served.api("/sessions?limit=200")["sessions"])
    drawer(page).get_by_role("button", name="Board", exact=True).click()
    page.locator(".drawer").get_by_label("Close").click()
    page.wait_for_selector(".piece.query img")
    assert "view=board" in page.url
    assert len(served.api("/sessions?limit=200")["sessions"]) == open_before
    still(page)
    item = int(page.locator(".piece:not(.query)").nth(5).get_attribute("data-item"))
    drag(page, item, 0.5, 0.36)
    page.wait_for_url("**/target?session=*")
    page.wait_for_selector(".piece.moved")
    ranked(page, item)
    page.go_back()
    page.wait_for_selector(".piece.query img")
    assert "view=board" in page.url


def test_the_screens_are_accessible(page, served):
    visit(page, served)
    page.wait_for_selector(".gallery .picture img")
    assert violations(page) == []
    board = begin(page, served)
    a, b, c = shown(board)[:3]
    drag(page, a, 0.5, 0.35)
    piece(page, b).focus()
    page.keyboard.press("p")
    piece(page, c).focus()
    page.keyboard.press("d")
    still(page)
    assert violations(page) == []
    menu(page)
    page.get_by_role("button", name="Colours", exact=False).click()
    page.get_by_role("button", name="Colours", exact=False).click()  # dark
    page.keyboard.press("Escape")
    page.wait_for_timeout(300)
    assert violations(page) == []
    page.get_by_role("button", name="As a list").click()
    page.wait_for_selector(".row img")
    assert violations(page) == []
    page.get_by_role("button", name="Give up").click()
    page.wait_for_selector("dialog.ending[open]")
    assert violations(page) == []
    page.get_by_role("button", name="No, only end it").click()
    page.wait_for_selector(".ended")
    assert violations(page) == []


def test_a_search_that_is_not_there_says_so(page, served, faults):
    faults.allowed = ("404",)
    visit(page, served, "session=9999")
    page.wait_for_selector("text=There is no session 9999")
    page.get_by_role("link", name="Begin another search").click()
    page.wait_for_selector(".gallery .picture img")
