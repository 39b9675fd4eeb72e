"""The picture of an incident: its initial view, how it is moved, and what it says where little was kept."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from jitterscope.pb import ingest_pb2 as pb
from tests.e2e.conftest import OpenWindow, Product, picture
from tests.e2e.looks import Look, below_the_bar
from tests.e2e.recorded_batches import RecordedNode, ingest, wait_for_incident
from tests.e2e.test_incident import view_us
from tests.support.batches import BatchBuilder
from tests.support.patience import wait_for

SLOW_US = 20_000


class SparinglyKept(RecordedNode):
    """In seconds without throttling, only slow queries were kept, as by a collector that does not record a lab."""

    def _queries(self, builder: BatchBuilder, server: int, start_us: int, end_us: int) -> None:
        super()._queries(builder, server, start_us, end_us)
        (kept,) = builder.batch.queries
        first, last = (int((at - self.start_us) // 100_000) for at in (start_us, end_us))
        if self.recording.columns["cpu_throttled_periods"][first:last].any():
            return
        slow = np.flatnonzero(np.array(kept.latency_us) > SLOW_US).tolist()
        sparse = pb.QueryBlock()
        sparse.CopyFrom(kept)
        sparse.complete = False
        for name in ("offset_us", "latency_us", "result", "name", "client"):
            values = list(getattr(kept, name))
            del getattr(sparse, name)[:]
            getattr(sparse, name).extend(values[at] for at in slow)
        kept.CopyFrom(sparse)


@pytest.fixture(scope="module")
def sparing(product: Product) -> tuple[SparinglyKept, int]:
    """Such a node, and its incident, whose title differs from the product's."""
    node = SparinglyKept("gomaxprocs", "node-7", "coredns-d07", deployment="coredns-d")
    ingest(product.url, product.stack.create_ingest_token(), node)
    with product.client() as client:
        return node, int(wait_for_incident(client, "node-7")["id"])


def surface(page: Page) -> Locator:
    return page.locator("[data-mode=zoom]")


def timeline(product: Product, incident_id: int, **window: int) -> dict[str, Any]:
    with product.client() as client:
        got = client.get(f"/api/v1/incidents/{incident_id}/timeline", params={"queries": 0, **window})
        return dict(got.raise_for_status().json())


def viewed(page: Page, before: tuple[int, int] | None) -> tuple[int, int]:
    """The visible span, once it differs from the previous one."""

    def moved() -> bool:
        page.wait_for_timeout(50)
        return view_us(page) != before

    wait_for(moved, f"a view other than {before}")
    return view_us(page)


def test_it_opens_at_the_first_stalls_with_calm_before_and_after(incident_page: Page, product: Product) -> None:
    words = picture(incident_page).get_attribute("aria-label")
    incident_page.get_by_role("button", name="Onset").click()
    from_us, to_us = viewed(incident_page, None)
    expect(picture(incident_page)).to_have_attribute("aria-label", words or "")
    stalls = [
        span
        for span in timeline(product, product.incident_id, **{"from": from_us, "to": to_us})["throttled"]
        if span["to_us"] > from_us and span["from_us"] < to_us
    ]
    assert stalls, "the stalls are in it"
    assert min(span["from_us"] for span in stalls) - from_us >= 1_400_000
    assert to_us - max(span["to_us"] for span in stalls) >= 1_400_000


def test_the_wheel_scrolls_the_page_and_with_control_it_zooms(incident_page: Page, product: Product) -> None:
    box = surface(incident_page).bounding_box()
    assert box is not None
    incident_page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
    words = picture(incident_page).get_attribute("aria-label")
    incident_page.mouse.wheel(0, 300)
    wait_for(lambda: incident_page.evaluate("scrollY") > 100, "scrolling")
    expect(picture(incident_page)).to_have_attribute("aria-label", words or "")
    assert "view=" not in incident_page.url
    incident_page.evaluate("scrollTo(0, 0)")
    incident_page.keyboard.down("Control")
    incident_page.mouse.wheel(0, -200)
    incident_page.keyboard.up("Control")
    expect(picture(incident_page)).not_to_have_attribute("aria-label", words or "")
    assert incident_page.evaluate("scrollY") == 0


def test_dragging_zooms_and_a_double_click_or_the_browser_goes_back(incident_page: Page, product: Product) -> None:
    onset = product.node.first_throttled_us()
    whole = onset - 4_000_000, onset + 4_000_000
    incident_page.goto(f"/incidents/{product.incident_id}?view={whole[0]}-{whole[1]}")
    box = surface(incident_page).bounding_box()
    assert box is not None

    def drag(begin: float, end: float) -> None:
        incident_page.mouse.move(box["x"] + box["width"] * begin, box["y"] + 60)
        incident_page.mouse.down()
        incident_page.mouse.move(box["x"] + box["width"] * end, box["y"] + 60, steps=4)
        incident_page.mouse.up()

    drag(0.25, 0.75)
    half = viewed(incident_page, whole)
    assert half == pytest.approx((onset - 2_000_000, onset + 2_000_000), abs=20_000)
    drag(0.25, 0.75)
    quarter = viewed(incident_page, half)
    assert quarter == pytest.approx((onset - 1_000_000, onset + 1_000_000), abs=20_000)

    surface(incident_page).dblclick(position={"x": box["width"] / 2, "y": 60})
    assert viewed(incident_page, quarter) == half
    incident_page.go_back()
    assert viewed(incident_page, half) == whole
    expect(incident_page.get_by_text(re.compile(r"^8 s of"))).to_be_visible()
    incident_page.go_forward()
    assert viewed(incident_page, whole) == half
    expect(incident_page.get_by_text(re.compile(r"^4 s of"))).to_be_visible()


def test_a_click_pins_a_tick_and_arrows_move_it(incident_page: Page) -> None:
    here = surface(incident_page)
    when = here.locator("dl dt").first
    box = here.bounding_box()
    assert box is not None
    here.click(position={"x": box["width"] / 2, "y": 60})
    pinned = when.inner_text()
    incident_page.mouse.move(box["x"] + 20, box["y"] + 60)
    incident_page.mouse.move(2, 2)
    expect(when).to_have_text(pinned)
    incident_page.keyboard.press("ArrowRight")
    expect(when).not_to_have_text(pinned)
    incident_page.keyboard.press("ArrowLeft")
    expect(when).to_have_text(pinned)
    incident_page.keyboard.press("Escape")
    expect(here.locator("dl")).to_have_count(0)


def test_where_single_answers_were_not_kept_the_tooltip_has_the_count(
    open_window: OpenWindow, product: Product, sparing: tuple[SparinglyKept, int]
) -> None:
    node, incident = sparing
    quiet = quiet_us(node)
    page = open_window().page
    for width_us, tick in ((4_000_000, "100 ms"), (400_000, "10 ms")):
        page.goto(f"/incidents/{incident}?view={quiet - width_us // 2}-{quiet + width_us // 2}")
        expect(page.get_by_text("median and slowest per tick")).to_be_visible()
        box = surface(page).bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
        rows = surface(page).locator("dl > div")
        expect(rows.filter(has_text="Single answers")).to_contain_text("not kept here")
        came = rows.filter(has_text="Queries in 100 ms").locator("dd").inner_text()
        assert 50 < int(came.split(",")[0]) < 200, f"1,000 queries/s at {tick}: {came}"


def quiet_us(node: RecordedNode) -> int:
    """The middle of two seconds far from any throttling."""
    hot = np.flatnonzero(node.recording.columns["cpu_throttled_periods"] > 0)
    gap = int(np.argmax(np.diff(hot)))
    return node.start_us + int(hot[gap] + hot[gap + 1]) // 2 * 100_000


def test_how_it_looks(look: Look, product: Product, sparing: tuple[SparinglyKept, int]) -> None:
    page = look.page
    page.goto(f"/incidents/{sparing[1]}")
    expect(picture(page)).to_be_visible()
    look.at("picture-opens")
    below_the_bar(page, page.get_by_role("region", name="What happened"))
    look.at("picture")
    onset = product.node.first_throttled_us()
    page.goto(f"/incidents/{product.incident_id}?view={onset - 400_000}-{onset + 600_000}")
    expect(page.get_by_text("ticks of 10 ms")).to_be_visible()
    below_the_bar(page, page.get_by_role("region", name="What happened"))
    box = surface(page).bounding_box()
    assert box is not None
    surface(page).click(position={"x": box["width"] * 0.36, "y": 60})
    look.at("picture-10ms")
    page.get_by_role("button", name="All", exact=True).click()
    page.keyboard.press("Escape")
    expect(surface(page).locator("dl")).to_have_count(0)
    look.at("picture-all")
    page.get_by_role("navigation", name="Sections").get_by_role("link", name="Evidence").click()
    expect(page.get_by_role("heading", name="Evidence")).to_be_in_viewport()
    look.at("picture-evidence")
