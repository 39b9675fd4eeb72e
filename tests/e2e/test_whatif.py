"""The what-if panel against the real replay: sliders change the prediction, a search finds, the picture is linked."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, Page, Request, expect

from tests.e2e.axe import in_both_themes
from tests.e2e.conftest import DESKTOP, PHONE, OpenWindow, Product, picture


def open_panel(page: Page, product: Product, tried: str = "") -> Locator:
    """The panel with its first answer."""
    page.goto(f"/incidents/{product.incident_id}{tried}")
    expect(picture(page).first).to_be_visible()
    heading = page.get_by_role("heading", name="What if")
    heading.evaluate("node => window.scrollTo(0, node.getBoundingClientRect().top + scrollY - 90)")
    panel = page.get_by_role("region", name="What if")
    expect(figure(panel, "throttled_ms_per_min")).to_be_visible()
    return panel


def figure(panel: Locator, name: str) -> Locator:
    return panel.locator(f"[data-figure={name}]")


def predicted(panel: Locator, name: str) -> float:
    """The expected value of a figure, in the unit it is shown in."""
    text = figure(panel, name).locator("td strong").inner_text()
    found = re.match(r"[<\s]*([\d.,]+)", text)
    assert found is not None, text
    return float(found[1].replace(",", ""))


def told(panel: Locator) -> Locator:
    """The prediction in one sentence, as a screen reader reads it."""
    return panel.locator("p[role=status]")


def press(slider: Locator, key: str, times: int) -> None:
    slider.focus()
    for _ in range(times):
        slider.press(key)


def test_moving_the_limit_changes_what_is_predicted(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    panel = open_panel(page, product)
    expect(panel.get_by_role("button", name="As recorded")).to_have_attribute("aria-pressed", "true")
    before = predicted(panel, "throttled_ms_per_min")
    assert before > 0, "the fault is replayed as a fault"

    slider = panel.get_by_role("slider", name="CPU limit", exact=True)
    expect(slider).to_have_attribute("aria-valuetext", "0.5 CPU")
    slider.focus()
    slider.press("End")
    expect(figure(panel, "throttled_ms_per_min").locator("td strong")).to_have_text("0 ms/min")
    expect(figure(panel, "slow_ratio").locator("td strong")).to_have_text("0 %")
    # The recorded value stays beside it, and the setting is in the link.
    expect(figure(panel, "slow_ratio")).to_contain_text("2.5 %")
    page.wait_for_url(re.compile(r"try=cpu_limit"))
    expect(told(panel)).to_contain_text(re.compile(r"^With CPU limit .*throttled time 0 ms/min"))

    page.reload()
    panel = open_panel(page, product, "?" + page.url.split("?", 1)[1])
    expect(figure(panel, "throttled_ms_per_min").locator("td strong")).to_have_text("0 ms/min")
    panel.get_by_role("button", name="As recorded").click()
    expect(figure(panel, "throttled_ms_per_min").locator("td strong")).not_to_have_text("0 ms/min")
    assert predicted(panel, "throttled_ms_per_min") == pytest.approx(before)


def test_typing_a_limit_and_switching_it_off(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    panel = open_panel(page, product)
    panel.get_by_label("CPU limit in CPU").fill("0.3")
    expect(panel.get_by_text("was 0.5 CPU")).to_be_visible()
    expect(panel.get_by_role("application")).to_have_attribute("aria-label", re.compile(r"What if: CPU limit 0\.3 CPU"))
    lower = predicted(panel, "slow_ratio")
    panel.get_by_label("CPU limit: no limit").check()
    expect(panel.get_by_role("application")).to_have_attribute("aria-label", re.compile("What if: CPU limit no limit"))
    expect(panel.get_by_role("slider", name="Burst", exact=True)).to_be_disabled()
    assert lower > predicted(panel, "slow_ratio") == 0


def test_fixes_are_values_to_try_and_say_why_they_cannot_help(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    panel = open_panel(page, product)
    panel.get_by_role("button", name="Burst 50 ms").click()
    notes = panel.get_by_role("list", name="Notes on the prediction")
    expect(notes).to_contain_text(re.compile("burst", re.IGNORECASE))
    assert predicted(panel, "throttled_ms_per_min") > 0


def test_only_the_last_of_many_moves_is_answered(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    panel = open_panel(page, product)
    asked: list[float] = []

    def heard(request: Request) -> None:
        if request.url.endswith("/whatif/cpu"):
            asked.append(json.loads(request.post_data or "{}")["settings"][0].get("gogc"))

    page.on("request", heard)
    slider = panel.get_by_role("slider", name="GOGC", exact=True)
    steps = 7
    # At once: keys pressed by hand can arrive one by one on a busy machine.
    slider.evaluate(
        """(input, steps) => {
            for (let step = 0; step < steps; step++) {
                input.stepUp();
                input.dispatchEvent(new Event('input', {bubbles: true}));
            }
        }""",
        steps,
    )
    value = slider.get_attribute("aria-valuetext")
    expect(told(panel)).to_contain_text(f"GOGC {value}")
    assert len(asked) < steps, "steps within a moment are one question"
    assert f"{asked[-1]:g} %" == value
    # The table was never removed in between.
    expect(figure(panel, "p99_ms")).to_be_visible()


def test_an_answer_is_there_soon_after_the_hand_rests(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    panel = open_panel(page, product)
    status = told(panel)
    slider = panel.get_by_role("slider", name="GOMAXPROCS", exact=True)
    slider.focus()
    expect(status).not_to_be_empty()
    slider.press("ArrowLeft")
    expect(status).to_contain_text("GOMAXPROCS 1")


def test_the_smallest_limit_is_found_and_tried(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    panel = open_panel(page, product)
    panel.get_by_label("p99 goal in milliseconds").fill("5")
    panel.get_by_role("button", name="p99 under").click()
    found = panel.get_by_role("list", name="Smallest settings")
    expect(found.get_by_role("listitem")).to_have_count(4)
    for name in ("GOMAXPROCS", "Replicas"):
        expect(found).to_contain_text(name)
    found.get_by_role("button", name=re.compile("Try .* CPU")).click()
    page.wait_for_url(re.compile(r"try=cpu_limit"))
    expect(told(panel)).to_contain_text("With CPU limit")
    assert predicted(panel, "p99_ms") <= 5


def test_both_pictures_zoom_together(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    panel = open_panel(page, product)
    top = picture(page).first
    before = top.get_attribute("aria-label")
    compare = panel.get_by_role("application")
    compare.focus()
    compare.press("+")
    compare.press("+")
    expect(top).not_to_have_attribute("aria-label", before or "")
    page.wait_for_url(re.compile(r"[?&]view="))
    # The same tick of both runs under one cursor.
    compare.press("ArrowRight")
    expect(compare.get_by_role("row").filter(has_text="recorded")).to_contain_text("CPU")
    expect(compare.get_by_role("row").filter(has_text="what if")).to_contain_text("CPU")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_panel_is_accessible(open_window: OpenWindow, product: Product, size: tuple[int, int]) -> None:
    page = open_window(size).page
    panel = open_panel(page, product, "?try=cpu_limit:1")
    expect(told(panel)).to_contain_text("With CPU limit 1 CPU")
    page.wait_for_timeout(400)
    assert in_both_themes(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
