"""Every page for an administrator: what axe finds in both themes, what moves while it loads, what it cuts off."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e import shifts
from tests.e2e.axe import Scheme, in_both_themes, settle, violations
from tests.e2e.conftest import IDS, LOOKS, SIZES, OpenWindow, Product, picture
from tests.e2e.looks import Look, cut_off
from tests.e2e.places import walk
from tests.e2e.widths import in_other_windows, too_wide


def states_of(product: Product) -> list[str]:
    """Addresses that no navigation leads to: other states of pages, with content or none."""
    window = f"resource={product.subject_id}&from={product.node.start_us}&to={product.node.end_us}"
    return [
        "/incidents?state=closed",
        "/services?show=map",
        "/settings/collectors?add=true",
        f"/compare?{window}",
        f"/compare?{window}&mode=overlaid",
        f"/dns?node={product.subject_id}&to={product.node.end_us}",
        "/resources?all=true",
        "/resources?from=1000000000&to=2000000000",
        "/help/causes?cause=cpu/gc_throttling",
        "/nowhere",
    ]


@pytest.mark.parametrize(("size", "scheme"), LOOKS, ids=IDS)
def test_every_page(
    open_window: OpenWindow, product: Product, subjects: dict[str, str], size: str, scheme: Scheme
) -> None:
    page = open_window(SIZES[size], scheme).page
    look = Look(page, size, scheme, is_phone=size == "phone")
    shifts.watch(page)
    page.goto("/")
    settle(page)
    found: dict[str, list[str]] = {}
    for address in walk(page, subjects, page.goto, more=states_of(product)):
        # Before anything is measured that could move something.
        here = shifts.seen(page)
        here += too_wide(page) + cut_off(page)
        look.keep(re.sub(r"\W+", "-", address).strip("-") or "home")
        if size == "phone":
            # In the other theme only what a phone alone shows is new, and other tests look at that.
            here += violations(page)
        else:
            here += look.violations() + in_other_windows(page)
        if here:
            found[address] = here
    assert found == {}


def test_incident_with_its_parts_open(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    page.goto(f"/incidents/{product.incident_id}")
    expect(picture(page)).to_be_visible()
    settle(page)
    page.get_by_text("Show as table").click()
    expect(page.get_by_role("table", name="Ticks of 100 ms")).to_be_visible()
    assert in_both_themes(page) == []
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert in_both_themes(page) == []


def test_reduced_motion_is_respected(open_window: OpenWindow) -> None:
    page = open_window().page
    page.emulate_media(reduced_motion="reduce")
    page.goto("/settings/collectors?add=true")
    page.get_by_role("button", name="Create token").click()
    pulse = page.locator("[class*=pulse]")
    expect(pulse).to_be_visible()
    assert float(pulse.evaluate("node => parseFloat(getComputedStyle(node).animationDuration)")) < 0.001
