"""100,000 answers stay smooth: panning and zooming draws much less than a mark for each, and asks the server nothing.

What a step takes is told, not judged: `make bench-frames`."""

from __future__ import annotations

import json
import random
import re
import sys

from playwright.sync_api import Route, expect

from tests.e2e.conftest import OpenWindow, Product, picture

DOTS = 100_000
# Returns [what it took in ms, marks drawn] of each step.
STEPS = """
async ([x, y]) => {
  let marks = 0;
  for (const name of ['fillRect', 'fill', 'stroke', 'drawImage', 'putImageData', 'fillText']) {
    const draws = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (...given) {
      marks += 1;
      return draws.apply(this, given);
    };
  }
  const surface = document.querySelector('[data-mode=zoom]');
  const steps = [];
  const frame = () => new Promise(requestAnimationFrame);
  const wheel = (deltaX, deltaY) => surface.dispatchEvent(
    new WheelEvent('wheel',
      {deltaX, deltaY, ctrlKey: deltaX === 0, clientX: x, clientY: y, bubbles: true, cancelable: true}));
  const step = async (deltaX, deltaY) => {
    await frame();
    marks = 0;
    const began = performance.now();
    wheel(deltaX, deltaY);
    // One frame to draw in, and the start of the next one: all work of the step lies between.
    await frame();
    await frame();
    steps.push([performance.now() - began, marks]);
  };
  for (let i = 0; i < 12; i += 1) await step(0, -30);
  for (let i = 0; i < 12; i += 1) await step(40, 0);
  for (let i = 0; i < 12; i += 1) await step(0, 30);
  return steps;
}
"""


def latency_us(chance: random.Random) -> int:
    """Around 0.2 ms; two in a hundred are slow."""
    return int(200 * chance.lognormvariate(0, 0.6)) + (60_000 if chance.random() < 0.02 else 1)


def test_100_000_answers_pan_and_zoom_smoothly(open_window: OpenWindow, product: Product) -> None:
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
        counted = body["rate"]["queries"]
        body["rate"]["queries"] = [DOTS, *[0] * (len(counted) - 1)]
        route.fulfill(response=response, body=json.dumps(body))

    page.route("**/timeline?*", many)
    page.goto(f"/incidents/{product.incident_id}")
    expect(picture(page)).to_be_visible()
    page.get_by_role("button", name="All", exact=True).click()
    expect(picture(page)).to_have_attribute("aria-label", re.compile("100,000 queries"))
    box = page.locator("[data-mode=zoom]").bounding_box()
    assert box is not None
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    steps = page.evaluate(STEPS, [box["x"] + box["width"] / 2, box["y"] + 120])
    took_ms = sorted(took for took, _ in steps)
    marks = sorted(drawn for _, drawn in steps)
    sys.stdout.write(
        f"A step of {DOTS:,} answers: {took_ms[len(took_ms) // 2]:.0f} ms, at most {took_ms[-1]:.0f}; "
        f"{marks[len(marks) // 2]:,.0f} marks, at most {marks[-1]:,.0f}\n"
    )
    assert marks[len(marks) // 2] > 0, "nothing is drawn"
    assert marks[-1] < DOTS / 2, "dots that fall on each other are one mark"
    assert [url for url in requests if "/timeline" in url] == []
