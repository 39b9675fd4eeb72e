"""What members write about an incident: notes that they change and delete, a post-mortem that they keep."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.axe import violations
from tests.e2e.conftest import DESKTOP, PHONE, OpenWindow, Product, Window, picture
from tests.e2e.looks import below_the_bar, look_at
from tests.e2e.members import join


@pytest.fixture
def as_new(product: Product) -> Iterator[None]:
    """No edits of the post-mortem are left."""
    yield
    path = f"/api/v1/incidents/{product.incident_id}/post-mortem/edits"
    with product.client() as client:
        client.delete(path, params={"version": client.get(path).json()["version"]}).raise_for_status()


@pytest.fixture(params=[(DESKTOP, "dark"), (PHONE, "light")], ids=["desktop-dark", "phone-light"])
def window(open_window: OpenWindow, request: pytest.FixtureRequest) -> Window:
    return open_window(*request.param)


def noted(page: Page, product: Product, text: str) -> None:
    page.goto(f"/incidents/{product.incident_id}")
    expect(picture(page)).to_be_visible()
    page.get_by_label("Note", exact=True).fill(text)
    page.get_by_role("button", name="Add note").click()
    expect(page.get_by_role("button", name=f"Edit note: {text}")).to_be_visible()


def test_a_note_is_edited_and_deleted_by_its_author(
    window: Window, open_window: OpenWindow, product: Product, request: pytest.FixtureRequest
) -> None:
    page, name = window.page, request.node.callspec.id
    theirs = open_window(anonymous=True).page
    noted(page, product, "limit rised")
    join(theirs, product, "editor")
    theirs.goto(f"/incidents/{product.incident_id}")
    expect(theirs.get_by_text("limit rised")).to_be_visible()
    expect(theirs.get_by_role("button", name="Edit note: limit rised")).to_have_count(0)
    page.get_by_role("button", name="Edit note: limit rised").click()
    words = page.get_by_label("Text of the note")
    expect(words).to_be_focused()
    words.fill("limit raised to 1 CPU")
    below_the_bar(page, page.get_by_role("heading", name="History"))
    look_at(page, f"note-edit-{name}")
    page.get_by_role("button", name="Save note").click()
    entry = page.get_by_role("listitem").filter(has_text="limit raised to 1 CPU").last
    expect(entry).to_contain_text(re.compile("noted by .*, edited "))
    # Others see it at once.
    expect(theirs.get_by_text("limit raised to 1 CPU")).to_be_visible()
    page.get_by_role("button", name="Delete note: limit raised to 1 CPU").click()
    expect(page.get_by_role("button", name="Delete note", exact=True)).to_be_focused()
    look_at(page, f"note-delete-{name}")
    page.get_by_role("button", name="Delete note", exact=True).click()
    expect(page.get_by_text("limit raised to 1 CPU")).to_have_count(0)
    expect(page.get_by_text(re.compile(", deleted "))).not_to_have_count(0)
    assert violations(page) == []


def opened(page: Page, product: Product) -> None:
    page.goto(f"/incidents/{product.incident_id}")
    page.get_by_role("button", name="Share", exact=True).click()
    page.get_by_role("menuitem", name="Post-mortem").click()
    expect(page.get_by_label("Post-mortem in Markdown")).to_have_value(re.compile("^# "))


def test_a_post_mortem_is_kept_and_a_conflict_is_told(
    window: Window, open_window: OpenWindow, product: Product, as_new: None, request: pytest.FixtureRequest
) -> None:
    page, theirs = window.page, open_window(anonymous=True).page
    name = join(theirs, product, "editor")
    for one in (page, theirs):
        opened(one, product)
        expect(one.get_by_text("Written from the data. No edits are saved.")).to_be_visible()
    theirs.get_by_label("Post-mortem in Markdown").fill("# Theirs")
    theirs.get_by_role("button", name="Save edits").click()
    expect(theirs.get_by_text(f"Saved by {name}")).to_be_visible()

    text = page.get_by_label("Post-mortem in Markdown")
    text.fill("# Mine")
    page.get_by_role("button", name="Save edits").click()
    conflict = page.get_by_role("alert").filter(has_text=f"{name} saved another version")
    expect(conflict.get_by_label("Saved text")).to_have_value("# Theirs")
    expect(text).to_have_value("# Mine")
    look_at(page, f"post-mortem-conflict-{request.node.callspec.id}")
    window.complaints.clear()  # the browser's own message for a 409
    conflict.get_by_role("button", name="Keep mine").click()
    text.fill("# Theirs and mine")
    page.get_by_role("button", name="Save edits").click()
    expect(page.get_by_text("Post-mortem saved").first).to_be_visible()
    theirs.reload()
    opened(theirs, product)
    expect(theirs.get_by_label("Post-mortem in Markdown")).to_have_value("# Theirs and mine")

    # A key press does not lose unsaved text. Messages take the first Escape.
    text.fill("# Not saved")
    expect(page.get_by_text("Post-mortem saved")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.get_by_text("Your edits are not saved.")).to_be_visible()
    page.get_by_role("button", name="Undo edits").click()
    page.get_by_role("button", name="Discard saved edits").click()
    expect(text).to_have_value(re.compile("^# Post-mortem: CoreDNS"))
    expect(page.get_by_text("Saved edits discarded")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
