"""The page of jobs: another network, another folder, and one folder less."""

from __future__ import annotations

import pytest

import likewise
from experiments.browsing import Served
from likewise.datasets import swatches


@pytest.fixture
def described(tmp_path):
    """A served collection with deep features, and a folder that is no part of it."""
    folder, other = tmp_path / "pictures", tmp_path / "drive"
    swatches(6, size=64, seed=1).write(folder, jobs=1)
    swatches(3, size=64, seed=2).write(other, jobs=1)
    with likewise.open(folder, create=True) as collection:
        collection.index(features=("deep", "colour"), processes=1, network="lite0")
    running = Served(folder).start()
    yield running, other
    running.stop()


def test_another_network_and_another_folder_are_asked_for(page, described, faults):
    served, other = described
    page.goto(served.address)
    page.wait_for_selector(".card img")
    page.goto(f"{served.base}/jobs")
    page.get_by_text("How pictures are described").click()
    anew = page.get_by_role("button", name="Describe all anew")
    assert anew.is_disabled()  # nothing else was chosen yet
    # Both are chosen first and asked for once: a job under way cannot take on another choice.
    page.get_by_label("Network").select_option("lite1")
    page.get_by_label("Arithmetic").select_option("int8")
    with page.expect_response("**/api/v1/jobs") as asked:
        anew.click()
    assert asked.value.status == 202, asked.value.text()
    page.locator(".job.done").wait_for()
    page.wait_for_function("!document.querySelector('select').disabled")
    assert page.get_by_label("Network").input_value() == "lite1"
    told = served.api("/status")
    assert (told["network"], told["arithmetic"], told["findable"]) == ("lite1", "int8", 6)

    page.get_by_text("1 folder").click()
    page.get_by_label("Another folder").fill(str(other / "none"))
    faults.allowed = ("404",)
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_text("There is no folder").wait_for()
    page.get_by_label("Another folder").fill(str(other))
    page.get_by_role("button", name="Add", exact=True).click()
    page.locator(".folders li", has_text=str(other)).wait_for()
    page.locator(".job.done").nth(1).wait_for()
    assert served.api("/status")["findable"] == 9
    page.locator(".folders li", has_text=str(other)).get_by_role("button", name="Remove").click()
    page.get_by_text("1 folder", exact=True).wait_for()
    assert served.api("/status")["findable"] == 6
    assert page.get_by_role("button", name="Remove", exact=True).count() == 0  # its own stays
