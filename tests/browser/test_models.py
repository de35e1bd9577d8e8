"""The models: what taught them, how they do, which one ranks; out, in, and against each other."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

import likewise
from tests.brought import install
from tests.browser.conftest import PATIENCE, Served, sign_in, violations

PASSED = {"passed": True, "sentence": "It may serve: this was made for a test."}
BACK = {"passed": False, "sentence": "It stays inactive: this was made for a test."}


@pytest.fixture(scope="module")
def school(made, tmp_path_factory):
    """A served collection with marks of two people and three models; the guard likes the first."""
    folder = tmp_path_factory.mktemp("models") / "swatches"
    shutil.copytree(made, folder)
    with likewise.open(folder, write=True) as collection:
        rng = np.random.default_rng(0)
        items = collection.look.view().ids
        for n, query in enumerate(items[:12].tolist()):
            others = [i for i in rng.permutation(items).tolist() if i != query][:10]
            who = {"person": ("Ada", "Ben")[n % 2], "source": "web"}
            collection.teaching.mark(collection.query(query), others[:3], True, **who)
            collection.teaching.mark(collection.query(query), others[3:], False, **who)
        ready = collection.models.prepare()
        table = [{"bin": 0, "words": 40, "idf": 2.5, "table": [[0.0, -0.5], [1.0, 2.0]]}]
        for name, guard, more in (
            ("first", PASSED, {}),
            ("second", BACK, {"table": table}),
            ("third", PASSED, {}),
        ):
            card = {**ready.card, "guard": guard, **more}
            collection.models.keep(ready._replace(name=name, card=card), activate=False)
    place = install(tmp_path_factory.mktemp("site"))
    with pytest.MonkeyPatch.context() as patched:
        known = os.environ.get("PYTHONPATH")
        patched.setenv("PYTHONPATH", os.pathsep.join([str(place), *([known] if known else [])]))
        running = Served(folder).start()
    yield running
    running.stop()


@pytest.fixture
def models(page, school):
    sign_in(page, school)
    show(page, school)
    return page


def show(page, school, search: str = "") -> None:
    page.goto(f"{school.base}/models{search}")
    page.wait_for_selector(".card-of-model")


def ranks(school) -> str:
    return school.api("/status")["model"]


def roll_back_all(school) -> None:
    while ranks(school) != "plain":
        school.api("/models/rollback", {})


def test_the_list_says_what_taught_each(models):
    rows = models.locator(".modellist tbody tr")
    assert rows.count() == 3
    assert "3 third" in rows.first.inner_text()  # newest first
    assert "120 judgements on 12 queries" in rows.first.inner_text()
    assert "let it pass" in rows.nth(0).inner_text()
    assert "keeps it back" in rows.nth(1).inner_text()
    assert "→" in rows.first.inner_text()  # what comes first: without and with it


def test_the_card_has_plots_and_numbers(models, school):
    show(models, school, "?model=1")
    card = models.get_by_role("region", name="Card of model 1")
    assert PASSED["sentence"] in card.inner_text()
    titles = card.locator(".plot figcaption").all_inner_texts()
    assert titles[:2] == ["Measures", "Precision by recall"]
    assert any("Difference in" in t for t in titles)
    assert card.locator(".plot polyline").count() == 2
    bars = card.locator(".plot rect[class^=series]").count()
    assert bars >= 8
    table = card.locator(".numbers").inner_text()
    for name in ("MAP", "Precision@1", "NDCG@10", "95 % interval", "plain", "new"):
        assert name in table


def test_a_word_table_is_drawn_where_a_model_has_one(models, school):
    show(models, school, "?model=2")
    heat = models.locator(".plot", has_text="The word table")
    assert "40 words, idf 2.5" in heat.inner_text()
    assert heat.locator("rect.warm").count() == 3
    assert heat.locator("rect.cold").count() == 1


def test_regressions_and_gains_are_rows_of_pictures(models, school):
    show(models, school, "?model=1")
    models.wait_for_selector(".change .order img")
    card = school.api("/models/1")["card"]["changes"]
    assert models.locator(".change").count() == len(card["worst"]) + len(card["best"])
    first = models.locator(".change").first
    assert first.locator(".order").count() == 2
    assert first.locator(".order").first.locator("li").count() == 8
    assert first.locator(".order li.right").count() >= 1
    first.locator("figure .picture").click()
    models.wait_for_selector(".viewer .zoom img")


def test_activate_and_roll_back(models, school):
    roll_back_all(school)
    show(models, school, "?model=1")
    models.get_by_role("button", name="Activate", exact=True).click()
    models.wait_for_selector("text=Model 1 ranks searches now.")
    models.wait_for_selector("text=Searches are ranked by model 1 first")
    assert ranks(school) == "1 first"
    models.get_by_role("button", name="Roll back").click()
    models.wait_for_selector("text=Searches go without anything learned now.")
    assert ranks(school) == "plain"


def test_what_the_guard_keeps_back_needs_a_second_word(models, school):
    roll_back_all(school)
    show(models, school, "?model=2")
    models.get_by_role("button", name="Activate anyway …").click()
    models.wait_for_selector("dialog[open]")
    assert BACK["sentence"] in models.locator("dialog[open]").inner_text()
    models.get_by_role("button", name="Leave it").click()
    assert ranks(school) == "plain"
    models.get_by_role("button", name="Activate anyway …").click()
    models.get_by_role("button", name="Activate it anyway").click()
    models.wait_for_selector("text=Model 2 ranks searches now.")
    roll_back_all(school)


def test_a_model_activated_in_another_tab_is_announced(context, models, school, faults):
    roll_back_all(school)
    other = context.new_page()
    faults.watch(other)
    other.goto(f"{school.base}/results?like=5&details=1")
    other.wait_for_selector('ul[aria-label="Results"] .card img')
    assert "model plain" in other.locator(".rests").inner_text()
    show(models, school, "?model=3")
    models.get_by_role("button", name="Activate", exact=True).click()
    other.wait_for_selector("text=Model 3 ranks searches now.")
    other.wait_for_selector(".rests:has-text('model 3 third')")  # and the answer follows
    school.api("/models/rollback", {})
    other.wait_for_selector("text=Searches go without anything learned now.")


def test_export_and_import(models, school, tmp_path, faults):
    show(models, school, "?model=1")
    with models.expect_download() as saved:
        models.get_by_role("button", name="Export").click()
    file = tmp_path / saved.value.suggested_filename
    saved.value.save_as(file)
    assert file.name == "model-1-first.safetensors"
    with models.expect_file_chooser() as chooser:
        models.get_by_role("button", name="Import …").click()
    chooser.value.set_files(file)
    models.wait_for_selector("text=Imported as model")
    models.wait_for_url("**model=4")
    models.wait_for_selector(".modellist .tag.quiet")
    assert school.api("/models")[0]["name"] == "first"

    faults.allowed = ("422",)
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(file.read_bytes()[:500])
    with models.expect_file_chooser() as chooser:
        models.get_by_role("button", name="Import …").click()
    chooser.value.set_files(broken)
    models.wait_for_selector(".toast.bad")
    assert "safetensors" in models.locator(".toast.bad").inner_text()


def test_any_two_on_any_judgements(models, school):
    form = models.get_by_role("region", name="Compare two models")
    form.locator("select[name=a]").select_option("1")
    form.locator("select[name=b]").select_option("plain")
    form.get_by_role("button", name="Compare").click()
    models.wait_for_selector(".compared")
    assert "1 first against plain, on 120 judgements" in form.inner_text()
    assert form.locator(".plot polyline").count() == 2
    assert form.locator(".change").count() > 0
    form.locator("select[name=on]").select_option("person:Ada")
    form.get_by_role("button", name="Compare").click()
    models.wait_for_selector("text=on 60 judgements")
    models.reload()  # what was asked is in the address
    models.wait_for_selector("text=on 60 judgements")


def test_what_cannot_be_compared_says_why(models, school, faults):
    faults.allowed = ("422",)
    show(models, school, "?a=1&b=plain&on=after%3A1")
    models.wait_for_selector(".error")
    assert "no labels to evaluate on" in models.locator(".error").inner_text()
    show(models, school, "?a=1&b=1")
    models.wait_for_selector("text=Choose two different models")


def test_no_model_yet_says_what_to_do(page, served):
    page.goto(served.address)
    page.wait_for_selector(".card img")
    page.keyboard.press("o")
    page.wait_for_url("**/models")
    page.wait_for_selector("text=No model yet")
    assert page.title() == "Models · likewise"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessible_in_both_themes_and_on_a_narrow_screen(models, school, theme):
    models.evaluate("theme => localStorage.setItem('likewise-theme', theme)", theme)
    show(models, school, "?model=1&a=1&b=2")
    models.wait_for_selector(".compared")
    assert violations(models) == []
    models.set_viewport_size({"width": 390, "height": 780})
    models.wait_for_timeout(200)
    assert models.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_a_method_of_an_installed_package_is_learned_activated_and_rolled_back(
    models, school, faults
):
    faults.allowed = ("422",)
    roll_back_all(school)
    section = models.get_by_role("region", name="Learning")
    section.get_by_label("What").select_option(label="Which blocks count, from marks")
    models.wait_for_selector("text=Learns one weight per block")
    strength = section.get_by_label("strength")
    strength.fill("99")
    section.get_by_role("button", name="Learn now").click()
    models.wait_for_selector("text=strength is a number from 0 to 10, not 99")
    strength.fill("2")
    section.get_by_role("button", name="Learn now").click()
    models.wait_for_selector(".learn .verdict b:has-text('block-weights')", timeout=8 * PATIENCE)
    newest = school.api("/models")[0]
    assert (newest["card"]["method"], newest["active"]) == ("block-weights", False)
    assert newest["card"]["settings"] == {"strength": 2}
    show(models, school, f"?model={newest['id']}")
    assert not violations(models)
    models.get_by_role("button", name="Activate anyway …").click()
    models.get_by_role("button", name="Activate it anyway").click()
    models.wait_for_selector(f"text=Model {newest['id']} ranks searches now.")
    models.goto(f"{school.base}/results?like=5&details=1")
    models.wait_for_selector(f".rests:has-text('model {newest['id']} block-weights')")
    models.locator('ul[aria-label="Results"] .picture').first.click()
    models.wait_for_selector(".why .bar-track")
    assert "Colour" in models.locator(".why").inner_text()
    roll_back_all(school)
