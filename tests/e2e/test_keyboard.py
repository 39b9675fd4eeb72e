"""Everything by keyboard."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Route, expect

from tests.e2e.conftest import OpenWindow, Product, picture, seen


def open_palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog").get_by_role("combobox")).to_be_focused()


def ask_for_held_palette(page: Page, product: Product) -> list[Route]:
    """On the list of incidents, request the palette and hold back its code; returns the requests that wait."""
    waiting: list[Route] = []
    page.route("**/CommandPalette-*.js", lambda route: waiting.append(route))
    page.goto("/incidents")
    expect(page.get_by_role("link", name=product.title)).to_be_visible()
    page.keyboard.press("Control+k")
    return waiting


def test_keys_that_come_before_the_palette_are_not_lost(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    waiting = ask_for_held_palette(page, product)
    page.keyboard.type("explore: contaimers")
    for _ in "mers":
        page.keyboard.press("Backspace")
    page.keyboard.type("ners")
    # What is typed shows at once, and moves nothing on the page below, where j and g i are shortcuts.
    expect(page.get_by_role("status", name="Loading search")).to_have_text("explore: containers")
    page.keyboard.press("Enter")
    assert len(waiting) == 1
    waiting[0].continue_()
    expect(page.get_by_role("heading", name="Containers", exact=True)).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    # From now on it is there, and as fast as the typing.
    page.keyboard.press("Control+k")
    page.keyboard.type("gi")
    expect(page.get_by_role("dialog").get_by_role("combobox")).to_have_value("gi")


def test_escape_ends_the_palette_before_it_is_there(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    waiting = ask_for_held_palette(page, product)
    page.keyboard.type("x")
    page.keyboard.press("Escape")
    expect(page.get_by_role("status", name="Loading search")).to_have_count(0)
    waiting[0].continue_()
    page.keyboard.press("j")
    expect(page.locator("li[data-current=true]")).to_have_count(1)


def test_list_with_j_and_enter_then_back_by_palette(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    page.goto("/incidents")
    expect(page.get_by_role("link", name=product.title)).to_be_visible()
    # Other tests have their incidents in the same product: j until it is this one.
    rows = page.locator("li[data-current]")
    place = next(at for at, text in enumerate(rows.all_inner_texts()) if product.title in text)
    for _ in range(place + 1):
        page.keyboard.press("j")
    expect(page.locator("li[data-current=true]")).to_contain_text(product.title)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(product.title)
    open_palette(page)
    page.keyboard.type("explore: containers")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Containers", exact=True)).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("i")
    expect(page.get_by_role("heading", name="Incidents", exact=True)).to_be_visible()


def test_palette_finds_a_resource_that_is_gone_by_a_part_of_its_name(open_window: OpenWindow, product: Product) -> None:
    seen(product, 10)
    page = open_window().page
    page.goto("/incidents")
    expect(page.get_by_role("link", name=product.title)).to_be_visible()
    open_palette(page)
    page.keyboard.type("7c9/coredns")
    option = page.get_by_role("option").filter(has_text="Cgroup on node-1, gone")
    # Not one that a part of the text has found.
    option.filter(has_text="coredns-7c9/coredns").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("kube-system/coredns-7c9/coredns")


def test_picture_by_arrows_zoom_and_selection(incident_page: Page) -> None:
    image = picture(incident_page)
    image.focus()
    whole = image.get_attribute("aria-label")
    incident_page.keyboard.press("ArrowRight")
    incident_page.keyboard.press("ArrowRight")
    # The tick is announced.
    live = incident_page.locator("p[aria-live=polite].visually-hidden")
    expect(live).to_have_text(re.compile(r"CPU mean .* peak"))
    incident_page.keyboard.press("Enter")
    expect(incident_page.get_by_text("Selected 100 ms.")).to_be_visible()
    incident_page.keyboard.press("Escape")
    expect(incident_page.get_by_text("Selected 100 ms.")).to_be_hidden()
    for _ in range(3):
        incident_page.keyboard.press("+")
    expect(image).not_to_have_attribute("aria-label", whole or "")
    incident_page.keyboard.press("z")
    expect(image).to_have_attribute("aria-label", whole or "")
    incident_page.keyboard.press("0")
    expect(image).not_to_have_attribute("aria-label", whole or "")


def test_brackets_lead_through_the_incidents(incident_page: Page, product: Product) -> None:
    heading = incident_page.get_by_role("heading", level=1)
    expect(incident_page.get_by_role("button", name="Previous incident")).to_be_enabled()
    incident_page.keyboard.press("[")
    expect(heading).not_to_have_text(product.title)
    expect(incident_page.get_by_role("link", name="kube-system/coredns-b52/coredns").first).to_be_visible()
    expect(incident_page.get_by_role("button", name="Next incident")).to_be_enabled()
    incident_page.keyboard.press("]")
    expect(heading).to_have_text(product.title)


def test_c_copies_the_first_fix_and_question_mark_helps(incident_page: Page) -> None:
    incident_page.keyboard.press("c")
    expect(incident_page.get_by_text("Patch copied").first).to_be_visible()
    assert "cpu" in incident_page.evaluate("navigator.clipboard.readText()")
    incident_page.keyboard.press("?")
    expect(incident_page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    # It receives keys once it has the focus, which is a moment after it is drawn.
    incident_page.wait_for_function("document.activeElement.closest('[role=dialog]') !== null")
    incident_page.keyboard.press("Escape")
    expect(incident_page.get_by_role("dialog")).to_be_hidden()


def test_tab_reaches_the_content_by_the_skip_link_first(incident_page: Page) -> None:
    incident_page.keyboard.press("Tab")
    skip = incident_page.get_by_role("link", name="Skip to content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()


def test_shortcuts_do_not_fire_while_typing(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    page.goto("/incidents")
    box = page.get_by_label("Filter incidents")
    box.fill("")
    box.type("jam?")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_text("No matching incidents")).to_be_visible()
    page.wait_for_url(re.compile(r"q=jam"))
