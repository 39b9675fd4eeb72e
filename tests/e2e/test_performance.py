"""100,000 answers stay smooth: panning and zooming the picture keeps drawing."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable

from playwright.sync_api import Route, expect

from tests.e2e.conftest import OpenWindow, Product, picture

DOTS = 100_000
FRAMES = """
async ([x, y]) => {
  const surface = document.querySelector('[data-mode=pan]');
  const durations = [];
  const frame = () => new Promise(requestAnimationFrame);
  const wheel = (deltaX, deltaY) => surface.dispatchEvent(
    new WheelEvent('wheel', {deltaX, deltaY, clientX: x, clientY: y, bubbles: true, cancelable: true}));
  const step = async (deltaX, deltaY) => {
    await frame();
    const began = performance.now();
    wheel(deltaX, deltaY);
    // One frame to draw in, and the start of the next one: all work of the step lies between.
    await frame();
    await frame();
    durations.push(performance.now() - began);
  };
  for (let i = 0; i < 12; i += 1) await step(0, -30);
  for (let i = 0; i < 12; i += 1) await step(40, 0);
  for (let i = 0; i < 12; i += 1) await step(0, 30);
  return durations;
}
"""


def latency_us(chance: random.Random) -> int:
    """Around 0.2 ms; two in a hundred are slow."""
    return int(200 * chance.lognormvariate(0, 0.6)) + (60_000 if chance.random() < 0.02 else 1)


def test_100_000_answers_pan_and_zoom_smoothly(
    open_window: OpenWindow, product: Product, record_property: Callable[[str, object], None]
) -> None:
    page = open_window().page
    chance = random.Random(1)

    def many(route: Route) -> None:
        response = route.fetch()
        body = json.loads(response.text())
        from_us, to_us = body["from_us"], body["to_us"]
        queries = body["queries"]
        queries["t_us"] = sorted(chance.randrange(from_us, to_us) for _ in range(DOTS))
        queries["latency_us"] = [latency_us(chance) for _ in range(DOTS)]
        queries["result"] = [0] * DOTS
        queries["name"] = [0] * DOTS
        queries["names"] = ["example. A"]
        queries["queue_wait_us"] = None
        queries["complete"] = [[from_us, to_us]]
        queries["truncated"] = 0
        route.fulfill(response=response, body=json.dumps(body))

    page.route("**/timeline?*", many)
    page.goto(f"/incidents/{product.incident_id}")
    expect(picture(page)).to_be_visible()
    page.get_by_role("button", name="All", exact=True).click()
    expect(picture(page)).to_have_attribute("aria-label", re.compile("100,000 answers"))
    box = page.locator("[data-mode=pan]").bounding_box()
    assert box is not None
    durations = page.evaluate(FRAMES, [box["x"] + box["width"] / 2, box["y"] + 120])
    durations.sort()
    median, worst = durations[len(durations) // 2], durations[-1]
    record_property("step_median_ms", round(median))
    record_property("step_worst_ms", round(worst))
    # Two frames at 60 Hz are 33 ms; the rest is for software rendering on a machine that others use too.
    assert median < 120, f"a step of zoom or pan takes {median:.0f} ms, at worst {worst:.0f} ms"
