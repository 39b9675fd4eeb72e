"""axe-core finds no serious violation on any page, in both themes; nothing on a page moves while it loads."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e import shifts
from tests.e2e.conftest import PHONE, ROOT, OpenWindow, Product, picture

AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
PAGES = (
    "/",
    "/incidents",
    "/incidents?state=closed",
    "/risks",
    "/resources",
    "/services",
    "/services?show=map",
    "/explore/metrics",
    "/help/causes",
    "/fixes",
    "/settings/collectors?add=true",
    "/settings/channels",
    "/settings/mutes",
    "/settings/repositories",
    "/settings/members",
    "/settings/tokens",
    "/settings/audit",
    "/settings/account",
    "/dns",
    "/startup",
    "/evidence",
    "/compare",
)


def pages_of(product: Product) -> list[str]:
    """Pages that have content for the recorded container alone."""
    window = f"resource={product.subject_id}&from={product.node.start_us}&to={product.node.end_us}"
    return [
        f"/compare?{window}",
        f"/compare?{window}&mode=overlaid",
        f"/dns?node={product.subject_id}&to={product.node.end_us}",
    ]


def violations(page: Page) -> list[str]:
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        f"{one['id']} ({one['impact']}): {one['help']}: {[node['html'][:160] for node in one['nodes'][:3]]}"
        for one in found
        if one["impact"] in ("serious", "critical", "moderate")
    ]


def settle(page: Page) -> None:
    expect(page.locator("main")).to_be_visible()
    expect(page.locator("[role=status][aria-label^=Loading]")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages(open_window: OpenWindow, product: Product, scheme: str) -> None:
    page = open_window(scheme=scheme).page
    shifts.watch(page)
    found: dict[str, list[str]] = {}
    for path in (*PAGES, *pages_of(product)):
        page.goto(path)
        settle(page)
        if here := violations(page) + shifts.seen(page):
            found[path] = here
    assert found == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_incident_with_its_parts_open(open_window: OpenWindow, product: Product, scheme: str) -> None:
    page = open_window(scheme=scheme).page
    shifts.watch(page)
    page.goto(f"/incidents/{product.incident_id}")
    expect(picture(page)).to_be_visible()
    settle(page)
    assert shifts.seen(page) == []
    page.get_by_text("Show as table").click()
    expect(page.get_by_role("table", name="Ticks of 100 ms")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page) == []


def test_resource_page_and_sign_in(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    shifts.watch(page)
    page.goto(f"/resources/{product.subject_id}")
    expect(picture(page)).to_be_visible()
    settle(page)
    assert violations(page) + shifts.seen(page) == []
    stranger = open_window(anonymous=True)
    stranger.page.goto("/sign-in")
    expect(stranger.page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert violations(stranger.page) == []


def test_phone_shows_everything_without_sideways_scrolling(open_window: OpenWindow, product: Product) -> None:
    page = open_window(PHONE).page
    shifts.watch(page)
    for path in (*PAGES, *pages_of(product), f"/incidents/{product.incident_id}", f"/resources/{product.subject_id}"):
        page.goto(path)
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0], path
        assert shifts.seen(page) == [], path
    assert violations(page) == []


def test_reduced_motion_is_respected(open_window: OpenWindow) -> None:
    page = open_window().page
    page.emulate_media(reduced_motion="reduce")
    page.goto("/settings/collectors?add=true")
    page.get_by_role("button", name="Create token").click()
    pulse = page.locator("[class*=pulse]")
    expect(pulse).to_be_visible()
    assert float(pulse.evaluate("node => parseFloat(getComputedStyle(node).animationDuration)")) < 0.001
