"""A person taught one photo; a near one is offered that: taken, taken off, refused."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

import likewise
from tests.browser.conftest import order, results, settled, shows, sign_in, violations


@pytest.fixture
def near(fresh):
    """A photo that was marked right for another one, which was taught: four right, two wrong."""
    fresh.stop()
    with likewise.open(fresh.folder, write=True) as collection:
        first = int(collection.look.view().ids[0])
        ids = collection.search(first, k=60).ids.tolist()
        collection.mark(first, ids[:4])
        collection.mark(first, ids[-2:], False)
    fresh.start()
    return ids[0]


def test_a_chip_is_offered_taken_and_taken_back(page, fresh, near):
    sign_in(page, fresh)
    before = results(page, fresh, f"like={near}")
    chips = page.get_by_role("list", name="Your earlier feedback")
    chip = chips.get_by_role("button", name="Use your feedback on this photo: 4 ✓ 2 ✗")
    expect(chip).to_have_attribute("aria-pressed", "false")
    expect(chip.locator("img")).to_be_visible()
    assert violations(page) == []
    chip.focus()
    page.keyboard.press("Enter")
    used = chips.get_by_role("button", name="Using your feedback on this photo: 4 ✓ 2 ✗")
    expect(used).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile("use=item"))
    settled(page, changed=before)
    after = order(page)
    page.reload()
    page.wait_for_selector('ul[aria-label="Results"] .card img')
    shows(page, after)
    expect(used).to_be_visible()
    assert violations(page) == []
    used.click()
    expect(chip).to_have_attribute("aria-pressed", "false")
    shows(page, before)
    expect(page).not_to_have_url(re.compile("use="))


def test_a_mark_brings_a_chip_that_the_photo_alone_did_not(page, fresh, near):
    fresh.stop()
    with likewise.open(fresh.folder) as collection:
        first = int(collection.look.view().ids[0])
        ids = collection.search(first, k=60).ids.tolist()
        found = {item: collection.search(item, k=12) for item in ids[5:]}
        far, answer = next(
            (item, answer)
            for item, answer in found.items()
            if not answer.offers and set(ids[:4]) & set(answer.ids.tolist())
        )
        place = next(at for at, item in enumerate(answer.ids.tolist()) if item in ids[:4])
    fresh.start()
    sign_in(page, fresh)
    before = results(page, fresh, f"like={far}&fold=0")
    chips = page.get_by_role("list", name="Your earlier feedback")
    expect(chips).to_have_count(0)
    page.locator('ul[aria-label="Results"] .card').nth(place).locator(".yes").click()
    expect(chips.get_by_role("button", name="Use your feedback on this photo")).to_be_visible()
    page.locator(".card.right .yes").click()
    expect(chips).to_have_count(0)
    shows(page, before)


def test_a_refusal_can_be_undone_and_is_remembered(page, fresh, near):
    sign_in(page, fresh)
    results(page, fresh, f"like={near}")
    chips = page.get_by_role("list", name="Your earlier feedback")
    dismiss = chips.get_by_role("button", name="Dismiss: feedback on this photo does not fit")
    dismiss.click()
    expect(page.get_by_text("Not offered here again.")).to_be_visible()
    with page.expect_response(
        lambda r: r.url.endswith("/offers") and "null" in r.request.post_data
    ):
        page.get_by_role("button", name="Undo").last.click()
    expect(chips).to_have_count(1)
    with page.expect_response("**/api/v1/offers"):
        dismiss.click()
    expect(chips).to_have_count(0)
    results(page, fresh, f"like={near}")
    expect(chips).to_have_count(0)


def test_who_comes_back_with_a_photo_marked_right_finds_that_feedback_first(page, fresh, near):
    fresh.stop()
    with likewise.open(fresh.folder, write=True) as collection:
        first = int(collection.look.view().ids[0])
        ids = [i for i in collection.search(near, k=60).ids.tolist() if i != first]
        for item in ids[1:4]:  # other wishes around it, with more said
            others = [i for i in collection.search(item, k=60).ids.tolist() if i != near]
            collection.mark(item, others[:5])
            collection.mark(item, others[-3:], False)
    fresh.start()
    page.goto(fresh.address)
    page.wait_for_selector(".card img")
    results(page, fresh, f"like={near}")
    chips = page.get_by_role("list", name="Your earlier feedback").locator("[aria-pressed]")
    expect(chips.first).to_have_accessible_name("Use your feedback on this photo: 4 ✓ 2 ✗")
