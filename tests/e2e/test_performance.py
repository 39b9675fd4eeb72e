"""100,000 answers are light on the wire and stay smooth: panning and zooming draws few marks and requests nothing.

The time per frame, and until the page is usable, is printed, not judged: `make bench-frames`.
"""

from __future__ import annotations

import random
import re
import sys

import numpy as np
from playwright.sync_api import CDPSession, Route, expect

from jitterscope.incidents.timeline.wire import MOST_BYTES, fitting
from jitterscope.kit.columns import MEDIA_TYPE
from tests.e2e.conftest import OpenWindow, Product, picture

DOTS = 100_000
# Returns [ms since the previous frame, marks drawn] for each frame.
FRAMES = """
async ([x, y, deltaX, deltaY, count]) => {
  let marks = 0;
  const restore = [];
  for (const name of ['fillRect', 'fill', 'stroke', 'drawImage', 'putImageData', 'fillText']) {
    const draws = CanvasRenderingContext2D.prototype[name];
    restore.push(() => { CanvasRenderingContext2D.prototype[name] = draws; });
    CanvasRenderingContext2D.prototype[name] = function (...given) {
      marks += 1;
      return draws.apply(this, given);
    };
  }
  const surface = document.querySelector('[data-mode=zoom]');
  const frame = () => new Promise(requestAnimationFrame);
  const found = [];
  let before = await frame();
  for (let i = 0; i < count; i += 1) {
    marks = 0;
    if (deltaX !== 0 || deltaY !== 0) surface.dispatchEvent(new WheelEvent('wheel',
      {deltaX, deltaY, ctrlKey: deltaX === 0, clientX: x, clientY: y, bubbles: true, cancelable: true}));
    const now = await frame();
    found.push([now - before, marks]);
    before = now;
  }
  restore.forEach((again) => again());
  return found;
}
"""
COUNT = 40
# Turns of the wheel; "nothing" is what the browser and the machine take by themselves.
MOVES = {"zoom in": (0, -20), "right": (16, 0), "left": (-16, 0), "zoom out": (0, 20), "nothing": (0, 0)}
# Reports when a control of the incident is first usable: its page has its title and a button that is not disabled.
USABLE = """
(() => {
  window.usable = new Promise((resolve) => {
    const look = () => {
      const main = document.querySelector('main');
      if (main?.querySelector('header h1') && main.querySelector('header button:enabled')) resolve(performance.now());
      else requestAnimationFrame(look);
    };
    look();
  });
})()
"""


def latency_us(chance: random.Random) -> int:
    """Around 0.2 ms; 2 % are slow."""
    return int(200 * chance.lognormvariate(0, 0.6)) + (60_000 if chance.random() < 0.02 else 1)


def main_thread_ms(cdp: CDPSession) -> float:
    """CPU time of the page's thread so far: excludes other work on the machine."""
    metrics = cdp.send("Performance.getMetrics")["metrics"]
    return next(float(one["value"]) for one in metrics if one["name"] == "TaskDuration") * 1000


def test_100_000_answers_pan_and_zoom_smoothly(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    chance = random.Random(1)

    sizes: list[int] = []

    def many(route: Route) -> None:
        response = route.fetch(headers={**route.request.headers, "accept": "application/json"})
        body = response.json()
        from_us, to_us = body["from_us"], body["to_us"]
        queries = body["queries"]
        queries["t_us"] = np.array(sorted(chance.randrange(from_us, to_us) for _ in range(DOTS)))
        queries["latency_us"] = np.array([latency_us(chance) for _ in range(DOTS)])
        queries["result"] = np.zeros(DOTS, np.int64)
        queries["name"] = np.zeros(DOTS, np.int64)
        queries["names"] = ["example. A"]
        queries["queue_wait_us"] = None
        queries["complete"] = [[from_us, to_us]]
        queries["truncated"] = 0
        counted = body["rate"]["queries"]
        body["rate"]["queries"] = [DOTS, *[0] * (len(counted) - 1)]
        content, small = fitting(body)
        sizes.append(len(small))
        route.fulfill(status=200, content_type=MEDIA_TYPE, body=content)

    page.route("**/timeline?*", many)
    page.goto(f"/incidents/{product.incident_id}")
    expect(picture(page)).to_be_visible()
    page.get_by_role("button", name="All", exact=True).click()
    expect(picture(page)).to_have_attribute("aria-label", re.compile("100,000 queries"))
    box = page.locator("[data-mode=zoom]").bounding_box()
    assert box is not None
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    cdp = page.context.new_cdp_session(page)
    cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
    sys.stdout.write(f"{DOTS:,} answers: {sizes[0] / 1000:.0f} kB on the wire. Frames, ms:\n")
    for name, (delta_x, delta_y) in MOVES.items():
        worked_ms = -main_thread_ms(cdp)
        place = [box["x"] + box["width"] / 2, box["y"] + 120]
        frames = page.evaluate(FRAMES, [*place, delta_x, delta_y, COUNT])
        worked_ms += main_thread_ms(cdp)
        took_ms = sorted(took for took, _ in frames)
        marks = sorted(drawn for _, drawn in frames)
        sys.stdout.write(
            f"  {name:8} median {took_ms[COUNT // 2]:.1f}, p95 {took_ms[COUNT * 95 // 100]:.1f}, at most "
            f"{took_ms[-1]:.1f}; {worked_ms / COUNT:.1f} of CPU on the page's thread; {marks[-1]:,} marks at most\n"
        )
        if name != "nothing":
            assert marks[COUNT // 2] > 0, "nothing is drawn"
            assert marks[-1] < DOTS / 20, "many dots are one bitmap"
    assert [url for url in requests if "/timeline" in url] == []
    assert sizes[0] < MOST_BYTES


def test_the_incident_page_is_light_and_soon_usable(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    page.add_init_script(USABLE)
    took_ms = []
    for _ in range(5):
        page.goto(f"/incidents/{product.incident_id}")
        took_ms.append(page.evaluate("window.usable"))
    expect(picture(page)).to_be_visible()
    page.wait_for_load_state("networkidle")
    received = page.evaluate(
        "performance.getEntriesByType('resource').filter(({name}) => name.includes('/timeline'))"
        ".map(({encodedBodySize, decodedBodySize}) => [encodedBodySize, decodedBodySize])"
    )
    sys.stdout.write(f"Usable after {sorted(took_ms)[2]:.0f} ms (median of {[round(one) for one in took_ms]})\n")
    sys.stdout.write(f"Timelines of the page, bytes on the wire and unpacked: {received}\n")
    assert received, "the page asks for its timeline"
    assert sum(encoded for encoded, _ in received) < MOST_BYTES
    assert all(encoded < decoded for encoded, decoded in received), "they are compressed"
