"""Before and after: the tests behind a verdict hold what they promise, and the verdict follows them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from jitterscope.diagnosis.core.area import Amounts, Measure, Sighting, WatchedFact
from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.landing import FixKind, Seen, Unseen
from jitterscope.diagnosis.core.registry import all_areas, all_fixes
from jitterscope.diagnosis.core.snapshot import FactValue, FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.verification.blocks import Blocks, blocks
from jitterscope.diagnosis.verification.changes import RESTART, matching_fix, steps
from jitterscope.diagnosis.verification.load import comparable
from jitterscope.diagnosis.verification.plan import Plan, kinds, plan, sightings, watched
from jitterscope.diagnosis.verification.significance import (
    needed_blocks,
    needed_s,
    permutation_p,
    rate_p,
    rate_ratio_high,
    ratio_interval,
)
from jitterscope.diagnosis.verification.verdict import Judgement, judge

NAN = float("nan")
CAUSE = "cpu/gc_throttling"
PLAN = plan(CAUSE, None)


def window(series: dict[str, FloatArray], dns: dict[str, FloatArray] | None = None, start_us: int = 0) -> Snapshot:
    """A container, and its DNS server if it has one."""
    subject = ResourceView(1, "cgroup", "/a", "a", series)
    servers = () if dns is None else (ResourceView(3, "dns_server", "1.1.1.1:53", "dns", dns),)
    node = ResourceView(2, "node", "n", "n")
    return Snapshot(start_us, len(next(iter(series.values()))), subject, node, dns_servers=servers)


def side(
    stall_every_s: float | None, seconds: float, qps: float = 1000.0, seed: int = 1, slow_share: float = 0.5
) -> Blocks:
    """A server that stalls for a tick now and then, at random; a stall makes a share of its queries slow."""
    generator = np.random.default_rng(seed)
    n = int(seconds * 10)
    hit = np.zeros(n, np.bool_) if stall_every_s is None else generator.random(n) < 0.1 / stall_every_s
    queries = generator.poisson(qps / 10, n).astype(np.float64)
    container = {
        "cpu_usage_us": np.full(n, 30_000.0),
        "cpu_throttled_us": np.where(hit, 70_000.0, 0.0),
        "cpu_periods": np.ones(n),
        "cpu_throttled_periods": hit.astype(np.float64),
    }
    slow = np.where(hit, np.floor(queries * slow_share), 0.0)
    made = window(container, {"dns_queries": queries, "dns_slow": slow})
    return blocks(made, PLAN.measures, PLAN.loads)


def verdict(before: Blocks, after: Blocks, least_s: float = 60.0, **predicted: Interval) -> Judgement:
    return judge(comparable(before, after, PLAN.loads, PLAN.deciding), PLAN, predicted, least_s)


def test_a_pause_as_long_as_one_before_the_change_is_no_help() -> None:
    """A fault that rests for two minutes is not over after one."""
    hit = np.zeros(2400, np.bool_)
    hit[0:600:10] = hit[1800:2400:10] = True
    before, after = _stalls(hit), _stalls(np.zeros(900, np.bool_))
    found = verdict(before, after)
    assert (found.verdict, found.needed_s, found.collected_s) == ("waiting", 120.0, 90.0)
    assert verdict(before, _stalls(np.zeros(1300, np.bool_))).verdict == "verified"


def _stalls(hit: np.typing.NDArray[np.bool_]) -> Blocks:
    n = len(hit)
    container = {
        "cpu_usage_us": np.full(n, 30_000.0),
        "cpu_throttled_us": np.where(hit, 70_000.0, 0.0),
        "cpu_periods": np.ones(n),
        "cpu_throttled_periods": hit.astype(np.float64),
    }
    made = window(container, {"dns_queries": np.full(n, 100.0), "dns_slow": np.where(hit, 50.0, 0.0)})
    return blocks(made, PLAN.measures, PLAN.loads)


def test_the_rate_test_is_the_exact_one() -> None:
    for k0, t0, k1, t1 in ((6, 60.0, 0, 60.0), (20, 120.0, 9, 60.0), (3, 30.0, 12, 60.0)):
        share = t1 / (t0 + t1)
        less = stats.binomtest(k1, k0 + k1, share, alternative="less").pvalue
        more = stats.binomtest(k1, k0 + k1, share, alternative="greater").pvalue
        assert rate_p(k0, t0, k1, t1) == pytest.approx(min(1.0, 2 * min(less, more)))
    assert rate_p(0, 60, 0, 60) == 1.0
    assert rate_p(5, 0, 0, 60) == 1.0


def test_how_long_absence_must_last() -> None:
    assert needed_s(6, 60, 0.05) == pytest.approx(60 * (0.025 ** (-1 / 6) - 1))
    assert needed_s(1, 60, 0.05) == pytest.approx(39 * 60)
    # With many events it is the two-sided rule of three.
    assert needed_s(100_000, 100_000, 0.05) == pytest.approx(3.69, abs=0.01)
    assert needed_s(0, 60, 0.05) == math.inf
    # After that long a wait, the text does not say that it can still be chance.
    for events in (1, 2, 6, 50):
        assert rate_p(events, 60, 0, needed_s(events, 60, 0.02)) == pytest.approx(0.02)


def test_how_many_blocks_absence_must_last() -> None:
    assert needed_blocks(0, 7, 0.02) == math.inf
    # One of 7 blocks: if 405 follow, 1.7 of 100 rearrangements have it among the first 7.
    assert needed_blocks(1, 7, 0.02) == pytest.approx(405, abs=1)
    for hot, of in ((2, 7), (3, 7), (7, 7), (6, 18)):
        calm = int(needed_blocks(hot, of, 0.02))
        part = np.concatenate([np.ones(hot), np.zeros(of - hot + calm)])
        assert permutation_p(part, np.ones(of + calm), np.arange(of + calm) >= of) < 0.02, (hot, of)


def test_the_upper_end_of_a_rate_ratio_covers() -> None:
    generator = np.random.default_rng(5)
    covered = sum(rate_ratio_high(generator.poisson(12), 60, generator.poisson(3), 60) >= 0.25 for _ in range(2000))
    assert covered / 2000 > 0.94
    assert rate_ratio_high(0, 60, 0, 60) == math.inf


def test_rearranging_blocks_finds_differences_and_makes_none_up() -> None:
    generator = np.random.default_rng(7)
    after = np.arange(12) >= 6
    ones = np.ones(12)
    chance = [permutation_p(generator.exponential(size=12), ones, after) for _ in range(300)]
    assert np.mean(np.array(chance) < 0.05) < 0.09
    apart = np.where(after, 0.0, generator.exponential(size=12) + 0.5)
    assert permutation_p(apart, ones, after) == pytest.approx(2 / math.comb(12, 6))
    many = np.where(np.arange(80) >= 40, 0.0, generator.exponential(size=80))
    assert permutation_p(many, np.ones(80), np.arange(80) >= 40) == pytest.approx(1 / 10_000)
    assert permutation_p(ones, ones, np.zeros(12, np.bool_)) == 1.0
    assert permutation_p(np.array([1.0, NAN, 1.0]), np.ones(3), np.array([False, True, True])) == 1.0


def test_the_interval_of_a_ratio_covers_it() -> None:
    generator = np.random.default_rng(11)
    inside = 0
    for _ in range(200):
        before, after = generator.gamma(2.0, 1.0, 20), generator.gamma(2.0, 0.3, 20)
        mask = np.arange(40) >= 20
        found = ratio_interval(np.concatenate([before, after]), np.ones(40), mask)
        assert found is not None
        inside += found.low <= 0.3 <= found.high
    assert inside / 200 > 0.8
    assert ratio_interval(np.zeros(4), np.ones(4), np.arange(4) >= 2) is None


def test_blocks_count_what_was_recorded() -> None:
    usage = np.full(250, 20_000.0)
    usage[100:160] = NAN
    throttled = np.where(np.isnan(usage), NAN, 5_000.0)
    made = blocks(window({"cpu_usage_us": usage, "cpu_throttled_us": throttled}, start_us=1_000_000), PLAN.measures)
    # The second block has data for only 4 s, and is left out; the half block at the end does not count.
    assert made.t_us.tolist() == [1_000_000]
    assert made.columns["throttled_ms_per_min"].part.tolist() == [500.0]
    assert made.columns["throttled_ms_per_min"].figure == pytest.approx(3000.0)
    assert "slow_ratio" not in made.columns
    assert "throttled_ratio" not in made.columns


def test_a_reading_that_is_taken_now_and_then_speaks_for_the_time_until_the_next() -> None:
    values = np.full(600, NAN)
    values[::50] = 3.0
    seen = Measure("seen", "Seen", "1", ("x",), lambda _: Amounts(values, np.where(np.isfinite(values), 1.0, NAN)))
    made = blocks(window({"cpu_usage_us": np.ones(600)}), [seen])
    assert len(made) == 6
    assert made.columns["seen"].exposure_s == pytest.approx(60.0)
    assert made.columns["seen"].figure == 3.0


def test_verdicts() -> None:
    before = side(5.0, 120)
    assert verdict(before, side(None, 120)).verdict == "verified"
    assert verdict(before, side(5.0, 120, seed=2)).verdict == "did_not_help"
    assert verdict(before, side(1.0, 120, seed=3)).verdict == "made_worse"
    helped = verdict(before, side(None, 120)).sentence
    assert helped is not None
    assert helped.startswith("The fix helped: slow answers went from ")
    assert "to 0 %" in helped
    assert "Meanwhile" not in helped


def test_what_became_worse_is_told_of_a_fix_that_helped() -> None:
    said = verdict(side(5.0, 120), side(1.0, 120, seed=3, slow_share=0.0))
    assert said.verdict == "verified"
    assert said.sentence is not None
    assert "Meanwhile throttled time went from " in said.sentence


def test_what_keeps_a_verdict_waiting() -> None:
    before = side(5.0, 120)
    early = verdict(before, side(None, 30))
    assert early.verdict == "waiting"
    assert early.waiting_for is not None
    assert "60 s under comparable load: 30 s so far" in early.waiting_for
    assert (early.needed_s, early.collected_s) == (60.0, 30.0)
    rare = verdict(side(60.0, 120, seed=10), side(None, 120))
    assert rare.verdict == "waiting", "a stall a minute can stay away for two by chance"
    assert rare.needed_s is not None
    assert rare.needed_s > 120 == rare.collected_s
    less = verdict(before, side(None, 120, qps=200))
    assert less.verdict == "waiting"
    assert "The load differs: 201 queries/s after the change, 1,002 before it." in (less.waiting_for or "")
    nothing = verdict(side(None, 120), side(None, 120))
    assert nothing.verdict == "waiting"
    assert "throttled time were 0 before the change, so nothing can have improved" in (nothing.waiting_for or "")
    assert {one.needed_s for one in (less, nothing, verdict(before, side(None, 120)))} == {None}, "no time is missing"


@pytest.mark.slow
def test_no_fix_is_verified_by_chance() -> None:
    """The same fault before and after is hardly ever called better or worse."""
    wrong = 0
    for seed in range(60):
        said = verdict(side(6.0, 90, seed=seed), side(6.0, 90, seed=seed + 1000))
        wrong += said.verdict in ("verified", "made_worse")
    assert wrong <= 3


def test_a_part_that_was_predicted_is_help() -> None:
    before, after = side(1.0, 300, seed=1), side(1.6, 300, seed=2)
    assert verdict(before, after).verdict in ("did_not_help", "waiting")
    known = before.columns["slow_ratio"].figure
    assert known is not None
    expected = Interval(low=0.5 * known, high=0.75 * known, expected=0.62 * known)
    said = verdict(before, after, slow_ratio=expected)
    assert said.verdict == "verified"
    slow = said.figures[0]
    assert slow.inside is True
    assert slow.error_ratio is not None
    assert slow.error_ratio < 0.3


def test_only_blocks_with_the_same_load_are_compared() -> None:
    before, after = side(5.0, 120), side(None, 120, seed=4)
    busier: FloatArray = np.where(np.arange(len(after)) < 3, 3.0, 1.0)
    mixed = replace(after, loads={**after.loads, "queries": after.loads["queries"] * busier})
    match = comparable(before, mixed, PLAN.loads)
    assert match.by is not None
    assert (match.by.id, match.why_not) == ("queries", None)
    assert len(match.after) == len(after) - 3


def test_each_of_more_servers_has_a_part_of_the_load() -> None:
    """Together they have the load that one had before; without knowing of the others, its traffic just fell."""
    before, healed = side(5.0, 120, qps=500.0), side(None, 120, qps=100.0, seed=4)
    said = [verdict(before, healed.under(ratio)).verdict for ratio in (1.0, 2.0, 5.0)]
    assert said == ["waiting", "waiting", "verified"]


def test_a_fix_that_lets_more_through_is_judged_by_what_it_does_under_more() -> None:
    before, healed = side(5.0, 120, qps=500.0), side(None, 120, qps=1000.0, seed=4)
    assert verdict(before, healed).verdict == "verified"
    # The same trouble under twice the load says nothing about the fix.
    said = verdict(before, side(5.0, 120, qps=1000.0, seed=4))
    assert said.verdict == "waiting"
    assert said.waiting_for is not None
    assert said.waiting_for.startswith("The load differs: ")
    # Under less load a fault might disappear by itself.
    assert verdict(before, side(None, 120, qps=100.0, seed=4)).verdict == "waiting"


def test_without_a_load_everything_is_compared() -> None:
    match = comparable(side(5.0, 120), side(None, 60, seed=4), ())
    assert (match.by, match.why_not) == (None, None)
    assert (len(match.before), len(match.after)) == (12, 6)


@pytest.mark.parametrize("served", ["tcp", "dns", "both"])
@pytest.mark.parametrize("cause", ["app", "cpu", "io", "memory", "net", "runtime", "unexplained"])
def test_no_fix_is_verified_because_traffic_fell(cause: str, served: str) -> None:
    """Of a service that also answers a few queries, these say nothing about its load."""
    loads = plan(f"{cause}/any", None).loads
    ran = Measure("ran", "Ran", "1", ("cpu_usage_us",), lambda _: Amounts(np.ones(600), np.ones(600)))

    def half(requests: float) -> Blocks:
        ticks = np.ones(600)
        tcp = ResourceView(4, "tcp_server", "/a:80", "a:80", {"requests": requests * ticks})
        queries = 5 * ticks if served == "both" else requests * ticks
        made = window({"cpu_usage_us": 30_000 * ticks}, None if served == "tcp" else {"dns_queries": queries})
        return blocks(made if served == "dns" else replace(made, tcp_servers=(tcp,)), [ran], loads)

    assert comparable(half(100.0), half(100.0), loads).why_not is None
    fell = comparable(half(100.0), half(20.0), loads)
    assert fell.by is not None
    assert fell.by.unit == ("queries/s" if served == "dns" else "requests/s")
    assert fell.why_not is not None


@pytest.mark.parametrize("cause", ["app/lock_or_dependency", "runtime/gc_pause", "unexplained/slow_answers"])
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("cpu.quota_us", "50000", "100000"),
        ("memory.limit_bytes", "100000000", "200000000"),
        ("go.env.GOMAXPROCS", "4", "2"),
        ("runtime.options", "[]", '["-Xmx420m"]'),
    ],
)
def test_a_changed_limit_or_runtime_is_noticed_whatever_the_cause(cause: str, name: str, old: str, new: str) -> None:
    before = {**LIMITED, name: old}
    assert [step.name for step in steps(watched(cause, ()), before, {**before, name: new}, False)] == [name]


def counted(every_s: float | None, seconds: float, better: str = "lower", share: float = 0.0) -> tuple[Blocks, Plan]:
    """Something counted: a kill now and then, or hits among ten tries per tick."""
    n = int(seconds * 10)
    part = np.zeros(n)
    if better == "higher":
        part[:] = 10 * share
        amounts = Amounts(part, np.full(n, 10.0))
    else:
        part[:: int(every_s * 10) if every_s else n + 1] = 1.0
        if every_s is None:
            part[:] = 0.0
        amounts = Amounts(part, np.full(n, 0.1 / 60), part)
    one = Measure("kills", "OOM kills", "1/min", ("x",), lambda _: amounts, better=better)  # type: ignore[arg-type]
    return blocks(window({"cpu_usage_us": np.ones(n)}), [one]), Plan((one,), ("kills",), ())


def test_few_events_are_judged_by_their_number() -> None:
    before, how = counted(30.0, 300)
    for after_s, expected in ((60, "waiting"), (300, "verified")):
        after, _ = counted(None, after_s)
        said = judge(comparable(before, after, ()), how, {}, 20.0)
        assert said.verdict == expected
        assert said.figures[0].test == "events counted, exact test of two rates"
    assert (said.sentence or "").startswith("The fix helped: OOM kills went from 2/min to 0/min")
    again, _ = counted(30.0, 900)
    assert judge(comparable(before, again, ()), how, {}, 20.0).verdict == "did_not_help"
    more, _ = counted(5.0, 300)
    assert judge(comparable(before, more, ()), how, {}, 20.0).verdict == "made_worse"


def test_of_some_figures_more_is_better() -> None:
    before, how = counted(None, 120, "higher", 0.2)
    for share, expected in ((0.9, "verified"), (0.2, "did_not_help"), (0.05, "made_worse")):
        after, _ = counted(None, 120, "higher", share)
        assert judge(comparable(before, after, ()), how, {}, 20.0).verdict == expected, share


def test_a_difference_that_nobody_notices_is_no_help() -> None:
    before, how = counted(30.0, 300)
    coarse = Plan((replace(how.measures[0], least=5.0),), how.deciding, ())
    after, _ = counted(None, 900)
    assert judge(comparable(before, after, ()), coarse, {}, 20.0).verdict == "did_not_help"


def test_a_fix_says_by_what_it_is_judged() -> None:
    area = all_areas()["cpu"]
    assert PLAN.deciding == tuple(one.id for one in area.measures if one.decides)
    assert PLAN.needs >= {"cpu_throttled_us", "dns_queries"}
    for kind in all_fixes().values():
        known = {one.id for other in all_areas().values() for one in other.measures}
        assert set(kind.measures) <= known, kind.id
        assert isinstance(kind.landing, Unseen) or kind.landing.facts, kind.id


def test_every_fact_that_a_fix_lands_by_is_watched() -> None:
    known = {one.fact for area in all_areas().values() for one in area.facts}
    known |= {one.id for area in all_areas().values() for one in area.sightings}
    for kind in all_fixes().values():
        if isinstance(kind.landing, Seen):
            assert set(kind.landing.facts) <= known, f"{kind.id} lands by facts that no area watches"


CASE = ["gogc_off_gomemlimit", "raise_cpu_limit", "gomaxprocs", "cfs_burst"]
LIMITED = {"cpu.quota_us": "50000", "cpu.period_us": "100000", "cpu.burst_us": "0"}


@pytest.mark.parametrize(
    ("new", "fix", "names"),
    [
        ({"cpu.quota_us": "100000"}, "raise_cpu_limit", ["cpu.quota_us"]),
        ({"cpu.quota_us": "-1"}, "raise_cpu_limit", ["cpu.quota_us"]),
        ({"cpu.quota_us": "30000"}, None, ["cpu.quota_us"]),
        ({"cpu.burst_us": "50000"}, "cfs_burst", ["cpu.burst_us"]),
        ({"go.env.GOMAXPROCS": "1"}, "gomaxprocs", ["go.env.GOMAXPROCS"]),
        (
            {"go.env.GOGC": "off", "go.env.GOMEMLIMIT": "3GiB"},
            "gogc_off_gomemlimit",
            ["go.env.GOGC", "go.env.GOMEMLIMIT"],
        ),
        ({"go.env.GOMAXPROCS": "1", "cpu.quota_us": "100000"}, None, ["cpu.quota_us", "go.env.GOMAXPROCS"]),
        # The same limit in shorter periods.
        ({"cpu.quota_us": "10000", "cpu.period_us": "20000"}, None, ["cpu.period_us"]),
        ({"workload.image": "coredns:1.13"}, None, ["workload.image"]),
        ({}, None, []),
    ],
)
def test_which_fix_a_change_is(new: dict[str, str], fix: str | None, names: list[str]) -> None:
    proposed = kinds(CAUSE, CASE)
    after = {**LIMITED, **new}
    found = steps(watched(CAUSE, CASE), LIMITED, after, restarted=False)
    assert [step.name for step in found] == names
    assert matching_fix(proposed, found, LIMITED, after) == fix
    again = steps(watched(CAUSE, CASE), LIMITED, after, restarted=True)
    assert again[-1] == RESTART
    assert matching_fix(proposed, again, LIMITED, after) == fix
    assert matching_fix((), found, LIMITED, after) is None


def test_more_memory_may_go_with_any_fix() -> None:
    proposed = kinds(CAUSE, CASE)
    limited = {**LIMITED, "memory.limit_bytes": str(1 << 28)}
    for memory, expected in ((1 << 29, "raise_cpu_limit"), (1 << 27, None)):
        after = {**limited, "cpu.quota_us": "100000", "memory.limit_bytes": str(memory)}
        found = steps(watched(CAUSE, CASE), limited, after, restarted=False)
        assert len(found) == 2
        assert matching_fix([_only_quota(one) for one in proposed], found, limited, after) == expected


def _only_quota(kind: FixKind) -> FixKind:
    if not isinstance(kind.landing, Seen):
        return kind
    facts = tuple(name for name in kind.landing.facts if name != "memory.limit_bytes")
    return replace(kind, landing=replace(kind.landing, facts=facts))


def test_a_corefile_is_told_by_its_lines() -> None:
    old, new = (
        {"dns.corefile": ".:53 {\n  cache 30\n  forward . 9.9.9.9\n}"},
        {"dns.corefile": ".:53 {\n  multisocket 2\n  cache 30\n  forward . 9.9.9.9\n}"},
    )
    (step,) = steps(watched(CAUSE, ()), old, new, restarted=False)
    assert (step.old, step.new) == ("(lines added)", "multisocket 2")
    assert steps(watched(CAUSE, ()), {}, new, restarted=False) == [], "a file that was read later is no change"


def test_what_only_a_window_shows_is_a_change_once_it_is_seen() -> None:
    seen = Sighting("seen.drop", "Caches dropped", ("x",), lambda _: FactValue("seen.drop", "5", 5))
    fact = WatchedFact("node.kernel", "Kernel", "node")
    assert [one.name for one in steps([seen, fact], {}, {"seen.drop": "5"}, restarted=False)] == ["seen.drop"]
    assert steps([seen, fact], {"seen.drop": "5"}, {}, restarted=False) == []
    kind = FixKind("drop", "Drop", "", Seen("Dropped.", ("seen.drop",), lambda old, new: "seen.drop" in new))
    changed = {"seen.drop": "5", "node.kernel": "6.1"}
    assert matching_fix([kind], steps([seen, fact], {}, changed, False), {}, changed) is None, "and another kernel"
    assert sightings(CAUSE, ()) == all_areas()["cpu"].sightings


def memory_side(seconds: int, killed_every_s: int | None, near: float, sparse_from_s: int | None = None) -> Blocks:
    """A container near its limit for a share of the time, killed now and then.

    From some point on, its memory is read once a second, as by a collector that is short of CPU.
    """
    n = seconds * 10
    ticks = np.arange(n)
    usage = np.where(ticks % 100 < 100 * near, 90.0, 10.0)
    kills = np.zeros(n)
    if killed_every_s is not None:
        kills[killed_every_s * 5 :: killed_every_s * 10] = 1.0
    if sparse_from_s is not None:
        seen = (ticks < sparse_from_s * 10) | (ticks % 10 == 3)
        since = np.cumsum(kills)
        usage, kills = (np.where(seen, values, NAN) for values in (usage, kills))
        kills[seen] = np.diff(since[seen], prepend=0.0)
    made = window({"memory_usage_bytes": usage, "memory_oom_kills": kills, "memory_limit_hits": 2 * kills})
    limit = (FactValue("memory.limit_bytes", "100", 0),)
    return blocks(replace(made, subject=replace(made.subject, facts=limit)), MEMORY.measures)


MEMORY = plan("memory/query_burst_oom", "raise_memory_limit")


def test_a_counter_that_is_read_once_a_second_counts_for_that_second() -> None:
    for sparse_from_s in (None, 0, 54, 60, 66):
        made = memory_side(120, 10, 0.3, sparse_from_s)
        kills, hits = made.columns["oom_kills_per_h"], made.columns["limit_hits_per_min"]
        assert kills.known, sparse_from_s
        assert kills.exposure_s == pytest.approx(120, abs=6), sparse_from_s
        assert kills.figure == pytest.approx(360, rel=0.05), sparse_from_s
        assert hits.figure == pytest.approx(12, rel=0.05), sparse_from_s


def test_the_end_of_kills_decides_and_not_how_near_a_larger_limit_memory_stays() -> None:
    """Read every tick before and once a second after, as on a node that is short of CPU."""
    before = memory_side(80, 10, 0.12)
    said = judge(comparable(before, memory_side(110, None, 0.36, 30), ()), MEMORY, {}, 60.0)
    assert said.verdict == "verified"
    assert (said.sentence or "").startswith("The fix helped: OOM kills went from 360/h to 0/h")
    assert {one.measure.id: one.decides for one in said.figures}["near_limit_ratio"] is False
    # Fewer kills are not harm either, but more are.
    rarer = judge(comparable(before, memory_side(110, 20, 0.36), ()), MEMORY, {}, 60.0)
    assert rarer.verdict == "waiting"
    assert judge(comparable(before, memory_side(110, 2, 0.01), ()), MEMORY, {}, 60.0).verdict == "made_worse"


def test_near_the_limit_decides_where_nothing_was_killed() -> None:
    before = memory_side(80, None, 0.12)
    for near, expected in ((0.0, "verified"), (0.36, "made_worse")):
        said = judge(comparable(before, memory_side(110, None, near), ()), MEMORY, {}, 60.0)
        assert said.verdict == expected
    killed = judge(comparable(before, memory_side(110, 5, 0.0), ()), MEMORY, {}, 60.0)
    assert killed.verdict == "made_worse"
