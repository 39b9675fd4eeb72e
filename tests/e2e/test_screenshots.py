"""Screenshots at desktop and phone width, light and dark. With JITTERSCOPE_SCREENSHOTS=DIR they are kept there:

JITTERSCOPE_SCREENSHOTS=../docs/screenshots uv run pytest ../tests/e2e/test_screenshots.py
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import DESKTOP, PHONE, OpenWindow, Product, picture


def settled(page: Page) -> None:
    expect(page.locator("[role=status][aria-label^=Loading]")).to_have_count(0)
    expect(page.get_by_text("live", exact=True).first).to_be_attached()
    page.evaluate("document.fonts.ready")
    page.wait_for_timeout(600)


def below_the_bar(page: Page, part: Locator, bar_px: int = 110) -> None:
    """Scrolls to a part, below the bar that stays on top."""
    part.evaluate("(node, bar) => window.scrollTo(0, node.getBoundingClientRect().top + scrollY - bar)", bar_px)
    settled(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_screenshots(
    open_window: OpenWindow, product: Product, size: tuple[int, int], scheme: str, tmp_path: Path
) -> None:
    folder = Path(os.environ.get("JITTERSCOPE_SCREENSHOTS", tmp_path)).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    page = open_window(size, scheme).page
    width = "desktop" if size == DESKTOP else "phone"
    pages = {
        "incidents": "/incidents",
        "incident": f"/incidents/{product.incident_id}",
        "explore": "/resources?all=true",
        "collectors": "/collectors",
        "causes": "/causes?cause=cpu/gc_throttling",
    }
    for name, path in pages.items():
        page.goto(path)
        if name == "incident":
            expect(picture(page)).to_be_visible()
        settled(page)
        file = folder / f"{name}-{width}-{scheme}.png"
        page.screenshot(path=file)
        assert file.stat().st_size > 10_000, "an empty page is small"
    page.goto(pages["incident"])
    parts = {
        "picture": page.get_by_role("region", name="What happened"),
        "fixes": page.get_by_role("heading", name="What to change"),
    }
    for name, part in parts.items():
        below_the_bar(page, part)
        page.screenshot(path=folder / f"{name}-{width}-{scheme}.png")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_screenshots_of_what_if_and_verification(
    open_window: OpenWindow,
    product: Product,
    verified_incident: int,
    size: tuple[int, int],
    scheme: str,
    tmp_path: Path,
) -> None:
    folder = Path(os.environ.get("JITTERSCOPE_SCREENSHOTS", tmp_path)).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    page = open_window(size, scheme).page
    name = f"{'desktop' if size == DESKTOP else 'phone'}-{scheme}"

    page.goto(f"/incidents/{product.incident_id}?try=cpu_limit:1")
    expect(picture(page)).to_be_visible()
    below_the_bar(page, page.get_by_role("heading", name="What if"))
    expect(page.locator("[data-figure=p99_ms]")).to_be_visible()
    settled(page)
    page.screenshot(path=folder / f"whatif-{name}.png")
    if size == PHONE:
        below_the_bar(page, page.get_by_role("region", name="What if").get_by_role("application"), 160)
        page.screenshot(path=folder / f"whatif-picture-{name}.png")

    page.goto(f"/incidents/{verified_incident}")
    expect(picture(page)).to_be_visible()
    settled(page)
    below_the_bar(page, page.get_by_role("heading", name="Did it help?"))
    expect(page.get_by_role("img", name="Before and after the change")).to_be_visible()
    page.screenshot(path=folder / f"verified-{name}.png")

    page.goto("/calibration")
    expect(page.get_by_role("list", name="Predictions and outcomes")).to_be_visible()
    settled(page)
    file = folder / f"calibration-{name}.png"
    page.screenshot(path=file)
    assert file.stat().st_size > 10_000, "an empty page is small"
