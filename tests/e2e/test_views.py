"""Saved views: a list with its filters, saved, shared, opened again, renamed, deleted."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.e2e.conftest import OpenWindow, Product
from tests.e2e.members import join


def test_a_viewer_keeps_a_view_and_shares_none(open_window: OpenWindow, product: Product) -> None:
    page = open_window(anonymous=True).page
    join(page, product, "viewer")
    page.goto("/resources?kind=node&q=node-1")
    page.get_by_role("button", name="Views ▾").press("Enter")
    page.get_by_role("menuitem", name="Save this view").press("Enter")
    dialog = page.get_by_role("dialog", name="Save this view")
    dialog.get_by_label("Name").fill("My node")
    expect(dialog.get_by_text("Only you see it. Your role, viewer, cannot share views.")).to_be_visible()
    expect(dialog.get_by_role("checkbox")).to_have_count(0)
    dialog.get_by_role("button", name="Save view").click()
    page.get_by_role("button", name="View: My node ▾").click()
    page.get_by_role("menuitem", name="Rename, delete").click()
    expect(page.get_by_role("dialog").get_by_role("checkbox")).to_have_count(0)
    page.get_by_role("button", name="Delete My node").click()
    expect(page.get_by_text("No views left.")).to_be_visible()


def test_a_filtered_list_is_saved_and_opened_again(open_window: OpenWindow) -> None:
    page = open_window().page
    page.goto("/resources?kind=node&q=node-1")
    page.get_by_role("button", name="Views ▾").press("Enter")
    page.get_by_role("menuitem", name="Save this view").press("Enter")
    dialog = page.get_by_role("dialog", name="Save this view")
    dialog.get_by_label("Name").fill("First node")
    dialog.get_by_label("Share with all members").check()
    dialog.get_by_role("button", name="Save view").click()
    expect(page.get_by_role("button", name="View: First node ▾")).to_be_visible()
    page.goto("/resources")
    page.get_by_role("button", name="Views ▾").click()
    page.get_by_role("menuitem", name="First node (shared)").click()
    expect(page).to_have_url("/resources?kind=node&q=node-1")
    expect(page.get_by_label("Name or path")).to_have_value("node-1")
    page.get_by_role("button", name="View: First node ▾").click()
    page.get_by_role("menuitem", name="Rename, share, delete").click()
    page.get_by_label("Name of First node").fill("Node one")
    page.get_by_role("button", name="Rename First node").click()
    page.get_by_role("button", name="Delete Node one").click()
    expect(page.get_by_text("No views left.")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("button", name="Views ▾")).to_be_focused()
