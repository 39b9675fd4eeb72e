"""Looks at a verification share one error, however often its figures are read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.core.area import Measure
from jitterscope.diagnosis.core.snapshot import FloatArray
from jitterscope.diagnosis.verification import looks, significance
from jitterscope.diagnosis.verification.blocks import Blocks, Column
from jitterscope.diagnosis.verification.load import Comparable
from jitterscope.diagnosis.verification.plan import Plan
from jitterscope.diagnosis.verification.verdict import Judgement, judge

LEAST_S, BLOCK_S = 60.0, 10.0
KILLS = Measure("kills", "OOM kills", "1/min", ("x",), lambda _: None)
STALLS = replace(KILLS, id="stalls", title="Stalls")


def side(kills: FloatArray, stalls: FloatArray | None = None) -> Blocks:
    """Blocks of 10 s with that many kills in each."""

    def counted(events: FloatArray) -> Column:
        n = len(events)
        return Column(events, np.full(n, BLOCK_S / 60), np.full(n, BLOCK_S), events)

    columns = {"kills": counted(kills)} | ({} if stalls is None else {"stalls": counted(stalls)})
    return Blocks(np.arange(len(kills), dtype=np.int64) * 10_000_000, 10_000_000, columns, {}, {})


def watched(before: Blocks, after: Blocks, upto_s: float = 900.0) -> tuple[Judgement, float]:
    """The first verdict of a worker that looks every 10 s, and when: s after the change."""
    plan = Plan((KILLS, STALLS), tuple(before.columns), ())
    for blocks in range(int(LEAST_S / BLOCK_S), int(upto_s / BLOCK_S) + 1):
        seen = after.only(np.arange(len(after)) < blocks)
        said = judge(Comparable(before, seen, None, None), plan, {}, LEAST_S)
        if said.verdict != "waiting":
            break
    return said, blocks * BLOCK_S


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals from fewer replicates: hundreds of looks in two seconds."""
    monkeypatch.setattr(significance, "_REPLICATES", 20)


@pytest.mark.usefixtures("quick")
def test_a_change_that_does_nothing_is_hardly_ever_judged_to_do_something() -> None:
    """The same rate before and after, looked at every 10 s until there is a verdict."""
    generator = np.random.default_rng(20)
    told = []
    for _ in range(100):
        rate = generator.uniform(0.5, 3.0)
        before, after = (generator.poisson(rate, n).astype(np.float64) for n in (generator.integers(5, 19), 90))
        told.append(watched(side(before), side(after))[0].verdict)
    wrong = sum(verdict in ("verified", "made_worse") for verdict in told)
    assert wrong <= 0.05 * len(told)
    assert "did_not_help" in told


@pytest.mark.usefixtures("quick")
def test_several_measures_share_the_error_of_harm() -> None:
    generator = np.random.default_rng(21)
    wrong = 0
    for _ in range(40):
        old, new = (generator.poisson(1.5, (2, n)).astype(np.float64) for n in (9, 90))
        wrong += watched(side(*old), side(*new))[0].verdict in ("verified", "made_worse")
    assert wrong <= 2


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("before_s", "kills", "seconds"), [(70, 10, 60), (70, 3, 260), (300, 10, 180)])
def test_a_fault_that_is_gone_is_told_at_the_first_look(before_s: int, kills: int, seconds: float) -> None:
    """As docs/verification.md says: after T · (0.01^(-1/k) - 1) s, at least 60 s."""
    before = np.zeros(before_s // 10)
    np.add.at(before, np.linspace(0, len(before) - 1, kills).round().astype(np.int64), 1.0)
    said, after_s = watched(side(before), side(np.zeros(60)))
    assert (said.verdict, after_s) == ("verified", seconds)


@pytest.mark.usefixtures("quick")
def test_a_real_effect_is_found_soon() -> None:
    """A tenth is left: mostly seen in the first three looks."""
    generator = np.random.default_rng(22)
    found = []
    for _ in range(30):
        before, after = generator.poisson(2.0, 9).astype(np.float64), generator.poisson(0.2, 90).astype(np.float64)
        said, after_s = watched(side(before), side(after))
        found.append(said.verdict == "verified" and after_s <= 240)
    assert np.mean(found) >= 0.8


def test_between_two_looks_nothing_is_decided() -> None:
    """More data do not change what the last look told, until there is twice as much."""
    before = side(np.full(12, 1.0))
    after = np.zeros(30)
    after[[0, 2, 4]] = 1.0
    plan = Plan((KILLS,), ("kills",), ())
    told = {}
    for blocks in (6, 9, 11, 12):
        told[blocks] = judge(Comparable(before, side(after[:blocks]), None, None), plan, {}, LEAST_S)
    assert [told[n].verdict for n in (6, 9, 11)] == ["waiting"] * 3
    assert {told[n].waiting_for for n in (6, 9, 11)} == {told[6].waiting_for}
    assert (told[9].needed_s, told[9].collected_s) == (120.0, 90.0)
    assert told[12].waiting_for != told[6].waiting_for


def test_all_looks_together_spend_the_budget_and_no_more() -> None:
    for first_s, last_s in ((60.0, 600.0), (75.0, 600.0), (400.0, 1200.0), (60.0, 180.0)):
        levels = {}
        for collected_s in np.arange(1.0, 2 * last_s):
            look = looks.reached(float(collected_s), first_s, last_s, 0.04)
            if look is not None:
                assert look.within_s <= collected_s
                levels[look.within_s] = look.level
        assert sum(levels.values()) == pytest.approx(0.04)
        assert (min(levels), max(levels)) == (first_s, last_s)
    assert sum(looks.budget(window, 48) for window in range(48)) == pytest.approx(looks.ALPHA)


def test_an_unknown_load_takes_a_clearer_difference_and_is_said() -> None:
    before, after = side(np.full(6, 1.0)), side(np.zeros(60))
    plan = Plan((KILLS,), ("kills",), ())
    match = Comparable(before, after.only(np.arange(60) < 8), None, None)
    assert judge(match, plan, {}, LEAST_S).verdict == "verified"
    blind = replace(match, unsure="No load is measured here.")
    said = judge(blind, plan, {}, LEAST_S)
    assert said.verdict == "waiting"
    later = judge(replace(blind, after=after), plan, {}, LEAST_S)
    assert later.verdict == "verified"
    assert (later.sentence or "").endswith(" No load is measured here.")
