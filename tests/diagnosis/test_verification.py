"""Before and after: the tests behind a verdict hold what they promise, and the verdict follows them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from jitterscope.diagnosis.finding import Interval
from jitterscope.diagnosis.snapshot import FloatArray
from jitterscope.diagnosis.verification.blocks import Blocks, Ticks, blocks, stalls
from jitterscope.diagnosis.verification.changes import Step, matching_fix, steps
from jitterscope.diagnosis.verification.load import comparable
from jitterscope.diagnosis.verification.significance import (
    needed_s,
    permutation_p,
    rate_p,
    rate_ratio_high,
    ratio_interval,
)
from jitterscope.diagnosis.verification.verdict import Judgement, judge

NAN = float("nan")


def side(stall_every_s: float | None, seconds: float, qps: float = 1000.0, seed: int = 1) -> Blocks:
    """A server that stands still for two ticks now and then, at random; a stall makes half of its queries slow."""
    generator = np.random.default_rng(seed)
    n = int(seconds * 10)
    hit = np.zeros(n, np.bool_) if stall_every_s is None else generator.random(n) < 0.1 / stall_every_s
    queries = generator.poisson(qps / 10, n).astype(np.float64)
    return blocks(
        Ticks(
            start_us=0,
            step_us=100_000,
            usage_us=np.full(n, 30_000.0),
            throttled_us=np.where(hit, 70_000.0, 0.0),
            periods=np.ones(n),
            throttled_periods=hit.astype(np.float64),
            queries=queries,
            slow=np.where(hit, np.floor(queries / 2), 0.0),
        )
    )


def verdict(before: Blocks, after: Blocks, least_s: float = 60.0, **predicted: Interval) -> Judgement:
    return judge(comparable(before, after), predicted, (50.0, 2.0), least_s)


def test_the_rate_test_is_the_exact_one() -> None:
    for k0, t0, k1, t1 in ((6, 60.0, 0, 60.0), (20, 120.0, 9, 60.0), (3, 30.0, 12, 60.0)):
        share = t1 / (t0 + t1)
        less = stats.binomtest(k1, k0 + k1, share, alternative="less").pvalue
        more = stats.binomtest(k1, k0 + k1, share, alternative="greater").pvalue
        assert rate_p(k0, t0, k1, t1) == pytest.approx(min(1.0, 2 * min(less, more)))
    assert rate_p(0, 60, 0, 60) == 1.0
    assert rate_p(5, 0, 0, 60) == 1.0


def test_how_long_absence_must_last() -> None:
    assert needed_s(6, 60) == pytest.approx(60 * (0.05 ** (-1 / 6) - 1))
    assert needed_s(1, 60) == pytest.approx(19 * 60)
    # With many events it is the rule of three.
    assert needed_s(100_000, 100_000) == pytest.approx(3.0, abs=0.01)
    assert needed_s(0, 60) == math.inf
    # One event less than that long is still chance, one-sided.
    share = needed_s(6, 60) / (needed_s(6, 60) + 60)
    assert (1 - share) ** 6 == pytest.approx(0.05)


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
    throttled = np.where(np.isnan(usage), NAN, 1.0)
    made = blocks(Ticks(1_000_000, 100_000, usage, throttled_us=throttled * 5_000, queries=np.full(250, NAN)))
    # The second block has data for 4 s only: left out; the half block at the end is none.
    assert made.t_us.tolist() == [1_000_000]
    assert made.throttled_us.tolist() == [500_000]
    assert not made.has("queries")
    assert not made.has("periods")


def test_a_stall_is_one_event_and_an_overload_many() -> None:
    hot = np.zeros(400)
    hot[[10, 11, 13, 50]] = 1.0
    found = stalls(Ticks(0, 100_000, np.ones(400), throttled_periods=hot))
    assert found is not None
    assert np.flatnonzero(found).tolist() == [10, 50]
    always = stalls(Ticks(0, 100_000, np.ones(400), throttled_periods=np.ones(400)))
    assert always is not None
    assert always.sum() == 4
    assert stalls(Ticks(0, 100_000, np.ones(400))) is None


def test_verdicts() -> None:
    before = side(5.0, 120)
    assert verdict(before, side(None, 120)).verdict == "verified"
    assert verdict(before, side(5.0, 120, seed=2)).verdict == "did_not_help"
    assert verdict(before, side(1.0, 120, seed=3)).verdict == "made_worse"
    helped = verdict(before, side(None, 120)).sentence
    assert helped is not None
    assert helped.startswith("The fix helped: slow queries went from ")
    assert "to 0 %" in helped


def test_what_keeps_a_verdict_waiting() -> None:
    before = side(5.0, 120)
    early = verdict(before, side(None, 30))
    assert early.verdict == "waiting"
    assert early.waiting_for is not None
    assert "60 s under comparable load, of which 30 s are there" in early.waiting_for
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
    assert "nothing can have become better" in (nothing.waiting_for or "")
    assert {one.needed_s for one in (less, nothing, verdict(before, side(None, 120)))} == {None}, "no time is missing"


def test_no_fix_is_verified_by_chance() -> None:
    """The same fault before and after: hardly ever called better or worse."""
    wrong = 0
    for seed in range(100):
        said = verdict(side(6.0, 90, seed=seed), side(6.0, 90, seed=seed + 1000))
        wrong += said.verdict in ("verified", "made_worse")
    assert wrong <= 8


def test_a_part_that_was_predicted_is_help() -> None:
    before, after = side(1.0, 300, seed=1), side(1.6, 300, seed=2)
    assert verdict(before, after).verdict in ("did_not_help", "waiting")
    known = before.share("slow", "queries")
    assert known is not None
    expected = Interval(low=0.5 * known, high=0.75 * known, expected=0.62 * known)
    said = verdict(before, after, slow_ratio=expected)
    assert said.verdict == "verified"
    slow = said.measures[0]
    assert slow.inside is True
    assert slow.error_ratio is not None
    assert slow.error_ratio < 0.3


def test_only_blocks_with_the_same_load_are_compared() -> None:
    before, after = side(5.0, 120), side(None, 120, seed=4)
    busier: FloatArray = np.where(np.arange(len(after)) < 3, 3.0, 1.0)
    mixed = Blocks(**{name: getattr(after, name) for name in Blocks.__slots__} | {"queries": after.queries * busier})
    match = comparable(before, mixed)
    assert (match.by, match.why_not) == ("queries", None)
    assert len(match.after) == len(after) - 3


CASE = ["gogc_off_gomemlimit", "raise_cpu_limit", "gomaxprocs", "cfs_burst"]
LIMITED = {"cpu.quota_us": "50000", "cpu.period_us": "100000", "cpu.burst_us": "0"}


@pytest.mark.parametrize(
    ("new", "fix", "names"),
    [
        ({"cpu.quota_us": "100000"}, "raise_cpu_limit", ["cpu_limit"]),
        ({"cpu.quota_us": "-1"}, "raise_cpu_limit", ["cpu_limit"]),
        ({"cpu.quota_us": "30000"}, None, ["cpu_limit"]),
        ({"cpu.burst_us": "50000"}, "cfs_burst", ["burst_us"]),
        ({"go.env.GOMAXPROCS": "1"}, "gomaxprocs", ["gomaxprocs"]),
        ({"go.env.GOGC": "off", "go.env.GOMEMLIMIT": "3GiB"}, "gogc_off_gomemlimit", ["gogc", "gomemlimit"]),
        ({"go.env.GOMAXPROCS": "1", "cpu.quota_us": "100000"}, None, ["cpu_limit", "gomaxprocs"]),
        # The same limit in shorter periods.
        ({"cpu.quota_us": "10000", "cpu.period_us": "20000"}, None, ["period_us"]),
        ({"workload.image": "coredns:1.13"}, None, ["image"]),
        ({}, None, []),
    ],
)
def test_which_fix_a_change_is(new: dict[str, str], fix: str | None, names: list[str]) -> None:
    found = steps(LIMITED, {**LIMITED, **new}, restarted=False)
    assert [step.name for step in found] == names
    assert matching_fix(found, CASE) == fix
    again = steps(LIMITED, {**LIMITED, **new}, restarted=True)
    assert again[-1] == Step("restart", "Restart", None, None)
    assert matching_fix(again, CASE) == fix
    assert matching_fix(found, []) is None


def test_a_corefile_is_told_by_its_lines() -> None:
    old, new = (
        {"dns.corefile": ".:53 {\n  cache 30\n  forward . 9.9.9.9\n}"},
        {"dns.corefile": ".:53 {\n  multisocket 2\n  cache 30\n  forward . 9.9.9.9\n}"},
    )
    (step,) = steps(old, new, restarted=False)
    assert (step.old, step.new) == ("(other order)", "multisocket 2")
    assert matching_fix([step], ["multisocket"]) == "multisocket"
