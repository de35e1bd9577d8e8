"""The page folds the steps of a board as the server does, in a real browser."""

from __future__ import annotations

import random

from likewise.session.draft import KINDS
from tests.session.board_cases import CASES, folded, whole

AFTER = """async (all) => {
  const { after, order } = await import('/static/lib/board.js');
  return all.map(([draft, step]) => after(draft, step)).map((next) => [next, order(next)]);
}"""


def in_the_page(page, served, asked: list) -> list:
    """The draft and its order after each of many steps, each from the draft before it."""
    page.goto(served.address)
    return page.evaluate(AFTER, asked)


def test_every_step_of_a_board_gives_the_draft_that_the_server_has(page, served):
    asked, wanted = [], []
    for case in CASES:
        before = whole({"pinned": case.get("pinned", [])})
        for step in case["steps"]:
            draft = whole(step["draft"])
            if step["kind"] != "undo":  # what is left then the server says, and the page goes on
                asked.append((before, step))
                wanted.append((case["name"], draft, step.get("order")))
            before = draft
    for (draft, order), (name, right, right_order) in zip(
        in_the_page(page, served, asked), wanted, strict=True
    ):
        assert draft == right, name
        assert right_order is None or order == right_order, name


def random_step(draw: random.Random) -> dict:
    kind = draw.choice(KINDS)
    some = draw.choices(range(1, 8), k=draw.randint(1, 3))
    if kind == "move":  # on a coarse grid, where many are equally far from the centre
        at = [n / 10 for n in range(11)]
        return {"kind": kind, "places": {str(i): [draw.choice(at), draw.choice(at)] for i in some}}
    return {"kind": kind, "items": some if kind != "give_up" else []}


def test_whatever_is_done_to_a_board_both_fold_alike(page, served):
    draw = random.Random(5)
    asked, right = [], []
    for _ in range(150):
        pinned, steps = draw.sample(range(1, 8), 2), [random_step(draw) for _ in range(8)]
        for done, step in enumerate(steps):
            asked.append((folded(steps[:done], pinned)[0], step))
            right.append(list(folded(steps[: done + 1], pinned)))
    for one, wanted, (_, step) in zip(in_the_page(page, served, asked), right, asked, strict=True):
        assert one == wanted, step
