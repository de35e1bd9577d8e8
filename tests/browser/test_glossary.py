"""The words of a person: none of the program's own on any screen outside Models and details."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import drawer, menu, results, violations
from tests.browser.test_board import still

GLOSSARY = "import('/static/lib/words.js').then((words) => words.GLOSSARY)"
SAID = """() => {
  const hidden = '[data-details], .numbers-behind';
  const parts = [document.title];
  const walk = document.createTreeWalker(document.body, 5); // elements and text
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const element = node.nodeType === 1 ? node : node.parentElement;
    if (element.closest(hidden) || element.closest('script, style, noscript')) continue;
    if (node.nodeType === 3) { parts.push(node.data); continue; }
    for (const name of ['aria-label', 'title', 'placeholder', 'alt']) {
      if (element.getAttribute(name)) parts.push(element.getAttribute(name));
    }
  }
  return parts.join(' | ');
}"""


def banned(glossary: dict[str, str]) -> list[re.Pattern[str]]:
    out = []
    for word in glossary:
        pattern = re.sub(r"\d+", r"\\d+", re.escape(word))
        out.append(re.compile(rf"\b{pattern}" if word[0].isalpha() else pattern, re.I))
    return out


def check(page, where: str) -> None:
    glossary = page.evaluate(GLOSSARY)
    said = page.evaluate(SAID)
    found = [
        (p.pattern, said[max(0, m.start() - 40) : m.end() + 30])
        for p in banned(glossary)
        if (m := p.search(said))
    ]
    assert found == [], where


def test_the_glossary_does_not_use_its_own_words(home):
    page = home
    glossary = page.evaluate(GLOSSARY)
    assert len(glossary) >= 20
    for words in glossary.values():
        assert not any(p.search(words) for p in banned(glossary)), words
    named = "import('/static/lib/words.js').then((words) => words.shares('deep-lite2-int8 40 %'))"
    assert page.evaluate(named) == f"{glossary['deep']} 40 %"  # whichever network describes


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_every_screen_speaks_as_a_person_does_and_is_accessible(page, served, scheme):
    page.emulate_media(color_scheme=scheme)
    page.goto(served.address)
    page.wait_for_selector(".card img")

    def fine(where: str) -> None:
        check(page, where)
        assert violations(page) == [], where

    menu(page)
    fine("home")
    page.goto(f"{served.base}/?view=map")
    page.wait_for_selector('ul[aria-label="Photos in view"] .card', timeout=120_000)
    fine("map")
    results(page, served, f"like={60 + len(scheme)}&details=1")
    page.locator(".card .yes").nth(4).click()
    page.wait_for_selector(".changed")
    page.locator(".card .picture").nth(0).click(modifiers=["Control"])
    drawer(page)
    fine("results")
    page.locator(".drawer").get_by_label("Close").click()
    page.locator(".card .picture").nth(3).click()
    page.wait_for_selector(".why .bar-track")
    fine("viewer")
    page.goto(f"{served.base}/results?like=60&view=sorted")
    page.wait_for_selector(".sorted .tile img")
    fine("sorted")
    page.goto(f"{served.base}/results")
    page.wait_for_selector("text=Nothing asked yet")
    fine("nothing asked")
    page.goto(f"{served.base}/target")
    page.wait_for_selector(".gallery .card img")
    fine("find one")
    page.get_by_role("button", name="Closest: ").nth(1).click()
    page.wait_for_selector(".piece.query img")
    page.locator(".piece:not(.query)").first.focus()
    page.keyboard.press("c")
    page.wait_for_selector(".piece.moved")
    still(page)
    fine("board")
    page.get_by_role("button", name="As a list").click()
    page.wait_for_selector(".row img")
    fine("list")
    page.get_by_role("button", name="Give up").click()
    page.wait_for_selector("dialog.ending[open]")
    fine("the end asks")
    page.get_by_role("button", name="No, only end it").click()
    page.wait_for_selector(".ended")
    fine("the end")
    page.goto(f"{served.base}/teach")
    page.wait_for_selector(".candidate img")
    page.keyboard.press("r")
    page.locator(".history summary").click()
    page.wait_for_selector(".history li")
    fine("teach")
    page.goto(f"{served.base}/jobs")
    page.wait_for_selector(".problems")
    fine("jobs")
    page.keyboard.press("?")
    page.wait_for_selector("dialog.help[open]")
    fine("keys")
    page.goto(f"{served.base}/models")
    page.wait_for_selector(".learn")
    assert violations(page) == []
