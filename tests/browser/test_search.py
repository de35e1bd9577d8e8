"""A person searches: by words, by picture, by a part of one; and says what is right."""

from __future__ import annotations

import base64
import csv
import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import (
    PATIENCE,
    drawer,
    marked,
    menu,
    order,
    results,
    settled,
    shows,
)

DROP = """([data, name, kind]) => {
  const bytes = Uint8Array.from(atob(data), c => c.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name, { type: "image/jpeg" }));
  const target = document.querySelector("main");
  const told = { bubbles: true, cancelable: true };
  if (kind === "paste") {
    target.dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer, ...told }));
  } else {
    for (const name of ["dragenter", "dragover", "drop"]) {
      target.dispatchEvent(new DragEvent(name, { dataTransfer: transfer, ...told }));
    }
  }
}"""


def swatch(served, number: int) -> bytes:
    return (served.folder / f"swatch-{number:04d}.jpg").read_bytes()


def item_of(served, name: str) -> int:
    page = served.api("/items?limit=500")["items"]
    return next(i["item"] for i in page if i["name"] == name)


def test_home_shows_the_collection_and_its_health(home):
    assert home.locator(".card").count() >= 20
    health = home.locator(".health").inner_text()
    assert "80 photos can be found" in health
    assert "1 unreadable" in health
    assert home.title() == "likewise"
    assert "token" not in home.url


def test_search_by_words(home):
    home.fill("#words", "swatch-0007")
    home.keyboard.press("Enter")
    home.wait_for_url("**/results?text=swatch-0007")
    home.wait_for_selector('ul[aria-label="Results"] .card')
    assert "swatch-0007.jpg" in order(home)
    assert home.locator(".rests").count() == 0  # what ranks is a detail
    home.get_by_role("button", name="Details").click()
    assert "model plain" in home.locator(".rests").inner_text()


def test_words_that_match_nothing_say_what_to_do(home):
    home.fill("#words", "zyzzyva")
    home.get_by_role("button", name="Search", exact=True).click()
    home.wait_for_selector("text=Nothing found")
    assert "drop one anywhere" in home.locator(".empty").inner_text()


def test_search_by_a_chosen_file(home, served, tmp_path):
    file = tmp_path / "mine.jpg"
    file.write_bytes(swatch(served, 5) + b"\0")
    with home.expect_file_chooser() as chooser:
        home.get_by_role("button", name="By picture").click()
    chooser.value.set_files(file)
    home.wait_for_url("**/results?like=u*")
    home.wait_for_selector('ul[aria-label="Results"] .card')
    assert order(home)[0] == "swatch-0005.jpg"


@pytest.mark.parametrize("kind", ["drop", "paste"])
def test_search_by_drop_and_by_paste(home, served, kind):
    data = base64.b64encode(swatch(served, 6) + b"\1").decode()
    home.evaluate(DROP, [data, "mine.jpg", kind])
    home.wait_for_url("**/results?like=u*")
    home.wait_for_selector('ul[aria-label="Results"] .card')
    assert order(home)[0] == "swatch-0006.jpg"
    home.wait_for_selector('.examples img[src^="/api/v1/uploads/"]')


def test_a_web_page_named_jpg_is_refused_in_a_sentence(home, faults):
    faults.allowed = ("422",)  # the browser notes every refused request
    data = base64.b64encode(b"<!doctype html><script>alert(1)</script>").decode()
    home.evaluate(DROP, [data, "picture.jpg", "drop"])
    home.wait_for_selector(".toast.bad")
    assert "web page, not a picture" in home.locator(".toast.bad").inner_text()
    assert home.url.endswith("/")


def test_search_by_a_crop_that_is_drawn(page, signed_in, served):
    item = item_of(served, "swatch-0010.jpg")
    whole = results(page, served, f"like={item}")
    page.click(".examples .picture")
    page.get_by_role("button", name="Search for a part").click()
    page.locator(".frame img").evaluate("i => i.decode()")
    box = page.locator(".frame").bounding_box()
    page.mouse.move(box["x"] + 10, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 3, steps=4)
    page.mouse.up()
    page.get_by_role("button", name="Search for this part").click()
    page.wait_for_url(re.compile(r"like=\d+%40"))
    settled(page, whole)
    assert page.locator(".examples .part").inner_text() == "part"


def test_search_by_a_crop_without_a_pointer(page, signed_in, served):
    item = item_of(served, "swatch-0011.jpg")
    results(page, served, f"like={item}")
    page.locator(".examples .picture").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Search for a part").press("Enter")
    page.wait_for_selector(".frame img")
    page.locator(".crop summary").focus()
    page.keyboard.press("Enter")
    page.locator(".crop input").nth(0).focus()
    for _ in range(5):
        page.keyboard.press("PageUp")
    page.get_by_role("button", name="Search for this part").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"like=\d+%400\.[1-9]"))


def test_one_mark_changes_this_search_at_once_and_undo_brings_it_back(page, signed_in, served):
    item = item_of(served, "swatch-0020.jpg")
    before = results(page, served, f"like={item}&fold=0&k=100")
    last = page.locator('ul[aria-label="Results"] .card').nth(30)
    name = before[30]
    last.locator(".yes").click()
    settled(page, before)
    marked(page, "1 ✓")
    assert order(page).index(name) < 30
    assert page.locator(".card.right").count() == 1
    page.click(".toast >> text=Undo")
    shows(page, before)
    assert order(page) == before
    assert page.locator(".card.right").count() == 0


def test_marks_and_undo_by_keys(page, signed_in, served):
    item = item_of(served, "swatch-0021.jpg")
    before = results(page, served, f"like={item}&fold=0")
    page.locator(".card .picture").nth(2).focus()
    page.keyboard.press("n")
    settled(page, before)
    assert before[2] not in order(page)  # what is wrong leaves the list
    page.keyboard.press("u")
    shows(page, before)
    assert order(page) == before


def name_of(picture) -> str:
    return picture.get_attribute("aria-label").partition(": ")[2].partition(",")[0]


def test_keys_act_on_the_picture_that_has_the_keyboard(page, signed_in, served):
    item = item_of(served, "swatch-0022.jpg")
    before = results(page, served, f"like={item}&fold=0")
    page.locator(".card .picture").nth(4).focus()
    page.keyboard.press("r")
    settled(page, before)
    assert name_of(page.locator(".card.right .picture")) == before[4]
    page.keyboard.press("u")
    shows(page, before)
    page.locator(".card").nth(3).locator(".picture").focus()
    page.keyboard.press("m")
    page.wait_for_url(f"**like={item_of(served, before[3])}*")


def test_a_mark_stays_after_a_reload(page, signed_in, served):
    item = item_of(served, "swatch-0022.jpg")
    before = results(page, served, f"like={item}")
    page.locator(".card .yes").nth(5).click()
    settled(page, before)
    after = order(page)
    page.reload()
    page.wait_for_selector(".card.right")
    assert order(page) == after


def test_more_like_this_and_back(page, signed_in, served):
    item = item_of(served, "swatch-0030.jpg")
    first = results(page, served, f"like={item}")
    page.get_by_role("button", name=f"Similar to {first[0]}").click()
    page.wait_for_url(lambda url: f"like={item}" not in url)
    settled(page, first)
    page.go_back()
    page.wait_for_url(f"**/results?like={item}")
    shows(page, first)
    assert order(page) == first


def test_several_examples_plus_and_minus(page, signed_in, served):
    a, b = item_of(served, "swatch-0031.jpg"), item_of(served, "swatch-0032.jpg")
    both = results(page, served, f"like={a}&like={b}")
    page.get_by_role("button", name=f"photo {b} is wanted").click()
    page.wait_for_url(f"**/results?like={a}&not={b}")
    settled(page, both)
    minus = order(page)
    page.get_by_role("button", name=f"Take photo {b} out").click()
    page.wait_for_url(f"**/results?like={a}")
    settled(page, minus)


def test_selected_pictures_join_the_query(page, signed_in, served):
    item = item_of(served, "swatch-0033.jpg")
    results(page, served, f"like={item}")
    page.locator(".card .picture").nth(0).click(modifiers=["Control"])
    page.locator(".card .picture").nth(1).click(modifiers=["Control"])
    page.click("text=Less like these")
    page.wait_for_url(re.compile(r"not=\d+&not=\d+"))
    assert page.locator(".examples li.unwanted").count() == 2


def test_one_selection_model_ctrl_shift_drag_all_none(page, signed_in, served):
    item = item_of(served, "swatch-0034.jpg")
    shown = results(page, served, f"like={item}")
    cards = page.locator(".card .picture")
    picked = page.locator(".card.picked")
    cards.nth(1).click(modifiers=["Control"])
    assert picked.count() == 1
    cards.nth(4).click(modifiers=["Shift"])
    assert picked.count() == 4
    cards.nth(7).click(modifiers=["Control"])
    assert picked.count() == 5
    cards.nth(7).click(modifiers=["Control"])
    assert picked.count() == 4
    first, third = cards.nth(0).bounding_box(), cards.nth(2).bounding_box()
    page.mouse.move(first["x"] + 20, first["y"] + 20)
    page.mouse.down()
    page.mouse.move(third["x"] + 20, third["y"] + 40, steps=4)
    page.mouse.up()
    assert picked.count() == 3
    assert "show=" not in page.url
    page.keyboard.press("a")
    assert picked.count() == len(shown)
    page.keyboard.press("Escape")
    assert picked.count() == 0
    cards.nth(0).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("x")
    assert cards.nth(1).get_attribute("aria-pressed") == "true"


def test_tag_a_selection_and_search_in_it(page, signed_in, served):
    item = item_of(served, "swatch-0035.jpg")
    results(page, served, f"like={item}")
    names = order(page)[:2]
    page.locator(".card .picture").nth(0).click(modifiers=["Control"])
    page.locator(".card .picture").nth(1).click(modifiers=["Control"])
    page.click("text=Tag …")
    page.keyboard.type("favourite")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Tagged 2 photos")
    assert set(results(page, served, "text=swatch&tag=favourite&fold=0")) == set(names)
    page.click("text=tag: favourite ×")
    page.wait_for_url(re.compile(r"text=swatch&fold=0$"))


def test_export_a_selection(page, signed_in, served):
    item = item_of(served, "swatch-0036.jpg")
    results(page, served, f"like={item}")
    names = order(page)[:3]
    page.locator(".card .picture").nth(0).click(modifiers=["Control"])
    page.locator(".card .picture").nth(2).click(modifiers=["Shift"])
    with page.expect_download() as download:
        page.click("text=Export CSV")
    with open(download.value.path(), newline="") as file:
        assert [row["file"] for row in csv.DictReader(file)] == names


def test_why_a_result_is_there(page, signed_in, served):
    item = item_of(served, "swatch-0037.jpg")
    results(page, served, f"like={item}")
    card = page.locator(".card").nth(0)
    assert card.locator(".score").count() == 0
    results(page, served, f"like={item}&details=1")
    score = float(card.locator(".score").inner_text())
    assert "found by picture" in card.locator(".picture").get_attribute("title")
    card.locator(".picture").click()
    page.wait_for_selector(".why .bar-track")
    assert 1 <= page.locator(".why .bar-track").count() <= 3
    page.locator(".why summary").click()
    shares = [float(t) for t in page.locator(".why td.number").all_inner_texts()]
    assert sum(shares) == pytest.approx(score, abs=0.01)
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog.viewer[open]", state="detached")


def test_folding_is_in_the_address_and_survives_a_reload(page, signed_in, served):
    results(page, served, "text=swatch")
    folded = page.locator(".badge").count()
    assert folded > 0
    drawer(page).get_by_label("show every copy").check()
    page.wait_for_url("**fold=0*")
    settled(page)
    page.reload()
    page.wait_for_selector(".card img")
    assert drawer(page).get_by_label("show every copy").is_checked()
    assert page.locator(".badge").count() == 0


def test_two_models_side_by_side(page, signed_in, served):
    item = item_of(served, "swatch-0038.jpg")
    left = results(page, served, f"like={item}")
    drawer(page).get_by_label("Compare with").select_option("plain")
    page.wait_for_url("**compare=plain*")
    page.wait_for_selector('ul[aria-label="Results of the other one"] .card')
    assert order(page, "Results of the other one") == left
    assert set(page.locator(".badge.moved").all_inner_texts()) == {"="}


def test_more_come_when_the_end_comes_near(page, signed_in, served):
    item = item_of(served, "swatch-0039.jpg")
    assert len(results(page, served, f"like={item}&fold=0")) == 60
    page.mouse.move(600, 500)
    page.mouse.wheel(0, 20_000)
    expect(page.locator(".card")).to_have_count(79, timeout=PATIENCE)


def test_the_name_is_kept_with_judgements(home, served):
    menu(home)
    home.click("text=Your name")
    home.keyboard.type("Ada")
    home.keyboard.press("Enter")
    item = item_of(served, "swatch-0040.jpg")
    before = results(home, served, f"like={item}&fold=0")
    home.locator(".card .no").nth(3).click()
    settled(home, before)
    assert served.api("/judgements?limit=1")["records"][0]["person"] == "Ada"


def test_the_list_of_keys_tells_what_the_screen_has(page, signed_in, served):
    results(page, served, "text=swatch")
    for key in ("?", "Escape", "?"):  # one on the heels of the other
        page.keyboard.press(key)
    page.wait_for_selector("dialog.help")
    text = page.locator("dialog.help").inner_text()
    for said in ("wrong: not this", "search for similar ones", "undo the last mark", "select all"):
        assert said in text
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog.help", state="hidden")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "words"


def test_light_and_dark(home):
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    first = home.evaluate(ground)
    menu(home)
    for step in ("auto; change to light", "light; change to dark"):
        home.get_by_role("button", name=f"Colours: {step}").click()
    assert home.evaluate("document.documentElement.dataset.theme") == "dark"
    assert home.evaluate(ground) != first
    home.reload()
    home.wait_for_selector(".card img")
    assert home.evaluate("document.documentElement.dataset.theme") == "dark"


def test_an_address_without_a_query_says_what_to_do(page, signed_in, served):
    page.goto(f"{served.base}/results")
    page.wait_for_selector("text=Nothing asked yet")


def test_a_mistyped_address_leads_home(page, signed_in, served, faults):
    faults.allowed = ("404",)
    page.goto(f"{served.base}/resluts?text=swatch")
    page.wait_for_selector("text=There is nothing at this address")
    page.locator("main").get_by_role("link", name="Home").click()
    page.wait_for_selector(".card img")


def test_nothing_overflows_on_a_narrow_screen(page, signed_in, served):
    page.set_viewport_size({"width": 1024, "height": 844})
    for address in ("/", "/results?text=swatch", "/teach", "/jobs"):
        page.goto(served.base + address)
        page.wait_for_selector("main .card, .candidate img, .problems", state="attached")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 1024, (address, wide)


def test_strangers_see_what_to_do(page, served, faults):
    faults.allowed = ("401",)
    page.goto(f"{served.base}/?token=an-old-one")
    assert "changes at every start" in page.inner_text("main")
    assert page.locator("script").count() == 0


def test_words_that_were_learned_say_so_and_what_is_opened_is_a_click(home, served):
    job = served.api("/models/learn", {"method": "ranked-cca"})["id"]
    while (done := served.api(f"/jobs/{job}"))["state"] in ("queued", "running"):
        home.wait_for_timeout(200)
    model = done["model"]
    served.api(f"/models/{model}/activate", {"force": True})
    results(home, served, "text=olive&details=1")
    assert f"words read by {model} ranked-cca" in home.locator(".rests").inner_text()
    titles = [c.get_attribute("title") for c in home.locator(".card .picture").all()]
    assert any("learned words" in title for title in titles)
    home.wait_for_selector(".near a")
    home.locator(".card .picture").nth(1).click()
    home.wait_for_selector("text=Words that were understood")
    assert "olive" in home.locator(".why").inner_text()
    newest = served.api("/judgements")["records"][0]
    assert (newest["kind"], newest["position"]) == ("click", 2)
    assert newest["query"]["text"] == "olive"
    home.keyboard.press("Escape")
    served.api("/models/rollback", {"task": "text"})
