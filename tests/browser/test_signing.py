"""Coming in through the file that likewise opens, and signing out."""

from __future__ import annotations

from likewise.cli.serving import _leads_to


def test_the_file_signs_in_and_sign_out_ends_it(page, context, served, tmp_path, faults):
    faults.allowed = ("401",)
    assert _leads_to(tmp_path / "open.html", served.address)
    page.goto((tmp_path / "open.html").as_uri())
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Your name").wait_for()
    assert "token" not in page.url
    assert [c["httpOnly"] for c in context.cookies()] == [True]
    page.get_by_role("link", name="Sign out").click()
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.get_by_text("Open the address").wait_for()
    assert context.cookies() == []
