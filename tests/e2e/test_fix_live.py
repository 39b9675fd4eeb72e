"""A fix applied to a running fault, as a user does it: the command copied from the page, run in a shell, and watched.

Real CoreDNS under load in its own cgroup, the real collector, and a Slack that is this test's own server.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from jitterscope.devstack.stack import Stack
from jitterscope.diagnosis.verification.wording import figure
from labs import coredns_gc
from labs.coredns_gc import Bench
from labs.hosting import yield_cpu
from labs.product import Product
from labs.variants import Variant, parameters_of
from tests.e2e.conftest import DESKTOP, PHONE, Window, picture, sign_in
from tests.e2e.looks import Look, below_the_bar
from tests.support import lab_plan
from tests.support.receiver import Slack

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and watches packets: needs root"),
    lab_plan.live(130, "cpu/gc_throttling"),
]
# Long enough for the permutation test over blocks of 10 s: five before and four after are distinguishable from chance.
BEFORE_S, LEAST_S, SETTLE_S = 62.0, 40, 5
ENVIRONMENT = {
    "JITTERSCOPE_NOTIFY_ALLOW_PRIVATE_TARGETS": "true",
    "JITTERSCOPE_VERIFICATION_SETTLE_S": str(SETTLE_S),
    "JITTERSCOPE_VERIFICATION_LEAST_S": str(LEAST_S),
}


@dataclass(frozen=True, slots=True)
class Live:
    """The fault, the product that watches it, and the Slack that it notifies. `goes_on`: whether queries still come."""

    stack: Stack
    product: Product
    rest: httpx.Client
    slack: Slack
    bench: Bench
    goes_on: Callable[[], bool]
    since_s: float

    def counter(self, name: str) -> int:
        """A counter from the kernel's cpu.stat of the server's cgroup."""
        return int(re.search(rf"^{name} (\d+)$", self.bench.cgroup.cpu_stat.read_text(), re.MULTILINE)[1])  # type: ignore[index]


# Made by the test, not for it: a run that is made again needs a fault without a fix.
@contextmanager
def running_fault(tmp_path: Path) -> Iterator[Live]:
    parameters = parameters_of(Variant.FAULT, {"seconds": 600})
    with (
        closing(Slack()) as slack,
        tempfile.TemporaryDirectory(prefix="jitterscope-live-", ignore_cleanup_errors=True) as folder,
        Stack(Path(folder), durable=False, owner_pid=os.getpid(), environment=ENVIRONMENT) as stack,
        Product(stack.url, token := stack.create_api_token()) as product,
        httpx.Client(base_url=stack.url, headers={"Authorization": f"Bearer {token}"}, timeout=30) as rest,
    ):
        yield_cpu(stack)
        config = {"bot_token": slack.TOKEN, "channel": slack.CHANNEL, "api_url": f"{slack.url}/api"}
        rest.post("/api/v1/channels", json={"kind": "slack", "name": "ops", "config": config}).raise_for_status()
        product.wait_for("a collector", product.receives, 60)
        with (
            coredns_gc.bench(Variant.FAULT, parameters, tmp_path, print) as bench,
            coredns_gc.loaded(bench, print) as load,
        ):
            yield Live(stack, product, rest, slack, bench, load.goes_on, time.monotonic())


@contextmanager
def signed_in(live: Live, browser: Browser) -> Iterator[Window]:
    """Signed in through the form; it must not have complained when the test ends."""
    with browser.new_context(
        base_url=live.stack.url,
        viewport={"width": DESKTOP[0], "height": DESKTOP[1]},
        color_scheme="dark",
        permissions=["clipboard-read", "clipboard-write"],
    ) as context:
        opened = Window(context, context.new_page(), [])
        opened.page.set_default_timeout(20_000)
        opened.listen()
        sign_in(opened.page, live.stack)
        yield opened
    assert opened.complaints == []


@pytest.mark.timeout(900)
def test_a_fix_applied_to_the_running_fault_is_verified_before_the_users_eyes(browser: Browser, tmp_path: Path) -> None:
    with running_fault(tmp_path) as live, signed_in(live, browser) as window:
        fix_and_watch(live, window.page)


def fix_and_watch(live: Live, page: Page) -> None:
    page.goto("/incidents")
    # The list is open all the time: the incident appears by itself.
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    row = page.get_by_role("listitem").filter(has_text=live.bench.cgroup.key)
    row.get_by_role("link", name=re.compile("uses up the CPU limit")).click(timeout=60_000)
    page.wait_for_url(re.compile(r"/incidents/\d+"))
    expect(picture(page)).to_be_visible()
    page.evaluate("window.neverReloaded = true")
    incident_id = int(re.search(r"/incidents/(\d+)", page.url)[1])  # type: ignore[index]
    assert incident(live, incident_id)["cause"] == "cpu/gc_throttling"

    # Some time with the fault, for the comparison.
    page.wait_for_timeout(max(0.0, live.since_s + BEFORE_S - time.monotonic()) * 1e3)
    throttled_before = live.counter("nr_throttled")
    assert throttled_before > 0
    run_as_a_user_does(copied_command(page), live)
    applied_s = time.monotonic()

    section = page.get_by_role("region", name="Did it help?")
    expect(section.get_by_role("heading", name="Measuring whether it helped")).to_be_visible(timeout=40_000)
    expect(section.get_by_role("list", name="What changed")).to_contain_text(re.compile(r"CPU limit 0\.5 → \d"))
    expect(page.get_by_text("◔ measuring", exact=True)).to_be_visible()
    noticed_s = time.monotonic() - applied_s
    at_the_fix = live.counter("nr_throttled"), time.monotonic()

    expect(section.get_by_role("heading", name="The fix is verified")).to_be_visible(timeout=110_000)
    verified_s = time.monotonic() - applied_s
    print(f"fix noticed on the page after {noticed_s:.1f} s, verified after {verified_s:.1f} s")  # noqa: T201
    expect(page.get_by_text("✓ fix verified")).to_be_visible()
    after_per_s = (live.counter("nr_throttled") - at_the_fix[0]) / (time.monotonic() - at_the_fix[1])
    assert after_per_s < 0.3 * throttled_before / BEFORE_S, "the kernel says so too: else the verdict means nothing"
    one_picture(section)
    assert live.goes_on(), "all of it under load"
    assert page.evaluate("window.neverReloaded") is True

    verification = incident(live, incident_id)["verification"]
    assert verification["fix_id"] == "raise_cpu_limit"
    assert verification["started_by"] == "jitterscope"
    throttled = measure(verification, "throttled_ms_per_min")
    assert throttled["before"] > 0
    assert throttled["after"] < 0.1 * throttled["before"]
    assert throttled["inside"] is True
    the_slack_thread(live, incident_id, verification)
    looks(page, section)


def copied_command(page: Page) -> str:
    """What the copy button of the first fix puts on the clipboard."""
    page.get_by_role("button", name=re.compile("Copy patch: Raise the CPU limit")).click()
    expect(page.get_by_text("Copied ✓")).to_be_visible()
    return str(page.evaluate("navigator.clipboard.readText()"))


def run_as_a_user_does(command: str, live: Live) -> None:
    """Run it in a shell, verbatim, but only after checking that it writes to the lab's cgroup alone."""
    folder = re.escape(str(live.bench.cgroup.cpu_stat.parent))
    assert re.fullmatch(rf'echo (\d+|"\d+ 100000") > {folder}/cpu\.(cfs_quota_us|max)', command), command
    subprocess.run(["sh", "-c", command], check=True)


def one_picture(section: Locator) -> None:
    """Before, after, and the prediction, drawn and in words."""
    image = section.get_by_role("img", name=re.compile("Before and after the change"))
    figures = r"before [\d,.]+ {0}, after [<\d,. ]+ {0}, predicted [<\d]"
    expect(image).to_have_accessible_name(re.compile("Throttled time: " + figures.format("ms/min")))
    expect(image).to_have_accessible_name(re.compile("Slow answers: " + figures.format("%")))
    assert image.locator("path").count() >= 5, "blocks with throttling"
    assert image.locator("circle").count() >= LEAST_S // 10 - 1, "blocks without"
    assert image.locator("[data-part=prediction]").count() == 2, "the prediction's interval, in both lanes"
    table = section.get_by_role("table", name="Before, after and predicted")
    expect(table.get_by_role("row").filter(has_text="Throttled time")).to_contain_text("inside the interval")


def the_slack_thread(live: Live, incident_id: int, verification: dict[str, Any]) -> None:
    """One thread: the incident, the fix, and the verdict with the figures before → after that the page shows."""
    address = f"{live.stack.url}/incidents/{incident_id}"

    def messages() -> list[dict[str, Any]]:
        """Messages of this incident: the collector sees the whole machine, and other labs might run on it."""
        return [one for one in live.slack.messages if button(one) == address]

    live.product.wait_for("the last word in Slack", lambda: "Fix verified" in messages()[-1]["text"], 20)
    first, *replies = messages()
    assert first["text"].startswith("New incident: ")
    assert "thread_ts" not in first
    assert [one.get("thread_ts") for one in replies] == [first["ts"]] * len(replies)
    said = [one["text"].partition(":")[0] for one in replies]
    assert said[-2:] == ["Fix applied, measuring", "Fix verified"]
    assert set(said[:-2]) <= {"Got worse", "Cause corrected"}
    assert re.search(r"CPU limit: 0\.5 → \*\d", written(replies[-2]))
    for metric in ("throttled_ms_per_min", "slow_ratio"):
        one = measure(verification, metric)
        assert f"{figure(one['before'], one['unit'])} → *{figure(one['after'], one['unit'])}*" in written(replies[-1])
    posted = [one for one in live.slack.requests if one.path == "/api/chat.postMessage"]
    assert len(posted) == len(live.slack.messages)
    assert {one.path for one in live.slack.requests} <= {"/api/chat.postMessage", "/api/chat.update"}


def button(message: dict[str, Any]) -> str:
    """The target of "Open incident"."""
    return next(str(one["elements"][0]["url"]) for one in message["blocks"] if one["type"] == "actions")


def written(message: dict[str, Any]) -> str:
    """All text in a message's blocks."""
    parts = [block.get("text", {}).get("text", "") for block in message["blocks"]]
    return "\n".join(parts + [one["text"] for block in message["blocks"] for one in block.get("fields", [])])


def incident(live: Live, incident_id: int) -> dict[str, Any]:
    return dict(live.rest.get(f"/api/v1/incidents/{incident_id}").raise_for_status().json())


def measure(verification: dict[str, Any], metric: str) -> dict[str, Any]:
    return next(dict(one) for one in verification["measures"] if one["metric"] == metric)


def looks(page: Page, section: Locator) -> None:
    """How it looks at desktop and phone width."""
    for name, (width, height) in {"desktop": DESKTOP, "phone": PHONE}.items():
        page.set_viewport_size({"width": width, "height": height})
        below_the_bar(page, section)
        Look(page, name, "dark", is_phone=name == "phone").at("live")
