"""Before and after under bursts: a fix is judged by bursts like those that came with the fault."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.verification.blocks import Blocks, blocks
from jitterscope.diagnosis.verification.load import comparable
from jitterscope.diagnosis.verification.plan import plan
from jitterscope.diagnosis.verification.verdict import Judgement, judge

NAN = float("nan")
PLAN = plan("cpu/request_burst", None)


def bursty(seconds: int, stalls: bool, height: float = 50.0, every_s: int = 10) -> dict[str, FloatArray]:
    """100 queries/s, and bursts of 0.3 s in which the server stalls or does not."""
    ticks = np.arange(10 * seconds)
    burst = ticks % (10 * every_s) < 3
    queries = np.where(burst, height, 10.0)
    return {"dns_queries": queries, "dns_slow": np.where(burst & stalls, 0.5 * queries, 0.0)}


def burst_side(dns: dict[str, FloatArray] | None, seconds: int) -> Blocks:
    n = 10 * seconds
    slow = np.zeros(n) if dns is None else dns["dns_slow"]
    container = {
        "cpu_usage_us": np.full(n, 30_000.0),
        "cpu_throttled_us": np.nan_to_num(slow) * 1000,
        "cpu_periods": np.ones(n),
        "cpu_throttled_periods": np.minimum(1.0, np.nan_to_num(slow)),
    }
    servers = () if dns is None else (ResourceView(3, "dns_server", "1.1.1.1:53", "dns", dns),)
    made = Snapshot(
        0, n, ResourceView(1, "cgroup", "/a", "a", container), ResourceView(2, "node", "n", "n"), dns_servers=servers
    )
    return blocks(made, PLAN.measures, PLAN.loads)


def burst_verdict(before: Blocks, after: Blocks) -> Judgement:
    return judge(comparable(before, after, PLAN.loads, PLAN.deciding), PLAN, {}, 60.0)


def test_a_fix_of_bursts_is_not_verified_because_bursts_ended() -> None:
    before = burst_side(bursty(120, stalls=True), 120)
    healed = burst_side(bursty(120, stalls=False), 120)
    assert burst_verdict(before, healed).verdict == "verified"
    ended = burst_side(bursty(600, stalls=False, height=10.0), 600)
    # The mean of a block hardly shows it: 112 queries/s before, 100 after.
    assert comparable(before, ended, plan("cpu/gc_throttling", None).loads).why_not is None
    said = burst_verdict(before, ended)
    assert said.verdict == "waiting"
    assert "no burst was over 100 queries/s; the fault came with bursts of 500 or more" in (said.waiting_for or "")


def test_only_time_with_bursts_counts_as_time_without_the_fault() -> None:
    before = burst_side(bursty(120, stalls=True), 120)
    said = burst_verdict(before, burst_side(bursty(300, stalls=False, every_s=60), 300))
    assert (said.verdict, said.needed_s, said.collected_s) == ("waiting", 60.0, 50.0)
    assert burst_verdict(before, burst_side(bursty(420, stalls=False, every_s=60), 420)).verdict == "verified"
    # Calm time before the change says nothing about the fault either: one burst a minute, each with a stall.
    rare = burst_side(bursty(420, stalls=True, every_s=60), 420)
    match = comparable(rare, burst_side(bursty(420, stalls=False, every_s=60), 420), PLAN.loads, ("slow_ratio",))
    assert (len(match.before), len(match.after)) == (7, 7)


def test_bursts_that_the_collector_cannot_see_do_not_verify() -> None:
    before = burst_side(bursty(120, stalls=True), 120)
    # Read once a second, a burst of 0.3 s is not as high.
    dense = bursty(120, stalls=False)
    at = np.arange(1200) % 10 == 9
    sparse = {name: np.where(at, np.convolve(values, np.ones(10))[:1200], NAN) for name, values in dense.items()}
    assert burst_verdict(before, burst_side(sparse, 120)).verdict == "waiting"
    # Without requests, only the CPU time in use is compared: that is said.
    match = comparable(before, burst_side(None, 120), PLAN.loads, PLAN.deciding)
    assert match.by is not None
    assert (match.by.id, match.bursts_from) == ("cpu", None)
    said = burst_verdict(before, burst_side(None, 300))
    assert said.verdict == "verified"
    assert (said.sentence or "").endswith("so the bursts might have ended by themselves.")


def test_higher_bursts_can_only_show_help() -> None:
    before = burst_side(bursty(120, stalls=True), 120)
    assert burst_verdict(before, burst_side(bursty(120, stalls=False, height=200.0), 120)).verdict == "verified"
    said = burst_verdict(before, burst_side(bursty(120, stalls=True, height=200.0), 120))
    assert said.verdict == "waiting"
    assert "bursts of up to 2,000 queries/s after the change, 500 before it" in (said.waiting_for or "")
