"""Parts of a CPU incident, and the palette: do they fit each window?"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Product, picture
from tests.e2e.looks import Look, below_the_bar, settled


def test_palette(look: Look) -> None:
    page = look.page
    page.goto("/incidents")
    settled(page)
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").get_by_role("combobox").fill("coredns")
    expect(page.get_by_role("dialog").get_by_role("option").first).to_be_visible()
    look.at("palette")


def test_incident(look: Look, product: Product) -> None:
    page = look.page
    page.goto(f"/incidents/{product.incident_id}?try=cpu_limit:1")
    for _ in look.windows():
        # Without scrolling, on a phone too.
        expect(picture(page)).to_be_in_viewport()
    look.at("incident")
    below_the_bar(page, page.get_by_role("region", name="What happened"))
    look.at("timeline")
    below_the_bar(page, page.get_by_role("heading", name="What to change"))
    look.at("fixes")
    below_the_bar(page, page.get_by_role("heading", name="What if"))
    expect(page.locator("[data-figure=p99_ms]")).to_be_visible()
    look.at("whatif")
    if look.is_phone:
        below_the_bar(page, page.get_by_role("region", name="What if").get_by_role("application"), 160)
        look.at("whatif-runs")
    below_the_bar(page, page.get_by_role("heading", name="Other causes considered"))
    look.at("evidence-of-incident")
    # The links to sections stay below the bar.
    bar = page.get_by_role("banner").bounding_box()
    links = page.get_by_role("navigation", name="Sections").bounding_box()
    assert bar is not None
    assert links is not None
    assert links["y"] == pytest.approx(bar["y"] + bar["height"], abs=1)


def test_verification_and_calibration(look: Look, verified_incident: int) -> None:
    page = look.page
    page.goto(f"/incidents/{verified_incident}")
    expect(picture(page)).to_be_visible()
    below_the_bar(page, page.get_by_role("heading", name="Did it help?"))
    expect(page.get_by_role("img", name="Before and after the change")).to_be_visible()
    look.at("verified")
    page.goto("/fixes")
    expect(page.get_by_role("list", name="Predictions and outcomes")).to_be_visible()
    look.at("calibration")
