"""Two fingers on the picture: what they hold stays under them."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import CDPSession, Page, expect

from tests.e2e.conftest import PHONE, OpenWindow, Product, picture
from tests.e2e.test_incident import view_us
from tests.support.patience import wait_for

Point = tuple[float, float]


def touch(cdp: CDPSession, kind: str, *points: Point) -> None:
    fingers = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
    cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})


def pinch(
    page: Page, cdp: CDPSession, begin: tuple[Point, Point], end: tuple[Point, Point], expected_us: tuple[float, float]
) -> tuple[int, int]:
    """Two fingers move from `begin` to `end` in ten steps; returns the view once the URL has about the expected one.

    The URL follows the fingers with some delay.
    """
    touch(cdp, "touchStart", begin[0])
    touch(cdp, "touchStart", *begin)
    for step in range(1, 11):
        share = step / 10
        at = [(x0 + (x1 - x0) * share, y0 + (y1 - y0) * share) for (x0, y0), (x1, y1) in zip(begin, end, strict=True)]
        touch(cdp, "touchMove", *at)
        page.wait_for_timeout(20)
    touch(cdp, "touchEnd")
    tolerance_us = (expected_us[1] - expected_us[0]) / 20

    def arrived() -> bool:
        page.wait_for_timeout(100)
        return view_us(page) == pytest.approx(expected_us, abs=tolerance_us)

    wait_for(arrived, f"a view of {expected_us} µs")
    previous = ""
    while page.url != previous:
        previous = page.url
        page.wait_for_timeout(500)
    return view_us(page)


def test_pinching_zooms_around_the_fingers(open_window: OpenWindow, product: Product) -> None:
    window = open_window(PHONE)
    page = window.page
    trigger = product.node.first_throttled_us()
    page.goto(f"/incidents/{product.incident_id}?view={trigger - 4_000_000}-{trigger + 4_000_000}")
    expect(picture(page).first).to_be_visible()
    surface = page.locator("[data-mode=zoom]")
    surface.scroll_into_view_if_needed()
    box = surface.bounding_box()
    assert box is not None
    cdp = window.context.new_cdp_session(page)
    scrolled = page.evaluate("scrollY")
    middle_x, y = box["x"] + box["width"] * 0.5, box["y"] + 150
    from_us, to_us = view_us(page)

    # Apart by a factor of three: a third of the time is visible, around the same middle.
    near, far = box["width"] * 0.12, box["width"] * 0.36
    third = (to_us - from_us) / 3
    apart = (middle_x - far, y), (middle_x + far, y)
    zoomed = pinch(page, cdp, ((middle_x - near, y), (middle_x + near, y)), apart, (from_us + third, to_us - third))
    assert zoomed[1] - zoomed[0] == pytest.approx((to_us - from_us) / 3, rel=0.05)
    assert sum(zoomed) / 2 == pytest.approx((from_us + to_us) / 2, abs=(to_us - from_us) / 50)
    expect(page.get_by_text(re.compile(r"^2\.\d s of|^2 s of"))).to_be_visible()

    # Up and down does the same, and does not scroll the page.
    again = pinch(
        page,
        cdp,
        ((middle_x, y - 100), (middle_x, y + 100)),
        ((middle_x, y - 50), (middle_x, y + 50)),
        (zoomed[0] - (zoomed[1] - zoomed[0]) / 2, zoomed[1] + (zoomed[1] - zoomed[0]) / 2),
    )
    assert again[1] - again[0] == pytest.approx((zoomed[1] - zoomed[0]) * 2, rel=0.05)
    assert page.evaluate("scrollY") == scrolled

    # Both fingers to the right: earlier time comes in, the zoom stays.
    shift = box["width"] * 0.25
    moved = pinch(
        page,
        cdp,
        ((middle_x - 40, y), (middle_x + 40, y)),
        ((middle_x - 40 + shift, y), (middle_x + 40 + shift, y)),
        (again[0] - (again[1] - again[0]) / 4, again[1] - (again[1] - again[0]) / 4),
    )
    width = again[1] - again[0]
    assert moved[1] - moved[0] == pytest.approx(width, rel=0.05)
    assert again[0] - moved[0] == pytest.approx(width * 0.25, rel=0.05)
