"""The verdict on a fix: better, the same, or worse, and whether there is enough data for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.snapshot import FloatArray
from jitterscope.diagnosis.core.stats import BoolArray
from jitterscope.diagnosis.verification import looks, significance
from jitterscope.diagnosis.verification.blocks import Blocks, Column
from jitterscope.diagnosis.verification.figures import Figure, counts_itself, figures
from jitterscope.diagnosis.verification.load import Comparable
from jitterscope.diagnosis.verification.looks import Look
from jitterscope.diagnosis.verification.plan import Plan
from jitterscope.diagnosis.verification.wording import amount, duration, lowered, sentence

Verdict = Literal["waiting", "verified", "did_not_help", "made_worse"]
# Halving it counts as help; a smaller reduction only if less was predicted.
HELPS, AT_LEAST, WORSE = 0.5, 0.9, 1.1
# After this long (and three times what absence would need), a difference that chance explains counts as none.
LONG_S, LONG_TIMES = 600.0, 3.0
_SAME_LOAD = "The comparison starts once the load is the same."


@dataclass(frozen=True, slots=True)
class Judgement:
    """`waiting_for` while there is no verdict, `sentence` once there is one; figures in both cases.

    `needed_s`/`collected_s` (seconds of comparable load) only if more of it is needed.
    """

    verdict: Verdict
    figures: tuple[Figure, ...]
    waiting_for: str | None
    sentence: str | None
    needed_s: float | None = None
    collected_s: float | None = None


def judge(
    match: Comparable, plan: Plan, predicted: Mapping[str, Interval], least_s: float, budget: float | None = None
) -> Judgement:
    """Compare the matching blocks. `predicted`: the predicted value of each measure after the change, by id.

    At least `least_s` of comparable data are needed in any case. `budget`: the error that all looks at these data share
    (see looks.py).
    """
    allowed = looks.budget() if budget is None else budget
    said = _judged(match, plan, predicted, least_s, allowed if match.unsure is None else looks.UNSURE * allowed)
    if match.heavier is not None and said.verdict in ("did_not_help", "made_worse"):
        return Judgement("waiting", said.figures, f"{match.heavier} {_SAME_LOAD}", None)
    if said.sentence is not None and match.unsure is not None:
        return replace(said, sentence=f"{said.sentence} {match.unsure}")
    return said


def _judged(
    match: Comparable, plan: Plan, predicted: Mapping[str, Interval], least_s: float, budget: float
) -> Judgement:
    found = figures(match.before, match.after, plan.measures, plan.deciding, predicted)
    if match.why_not is not None:
        return Judgement("waiting", found, f"{match.why_not} {_SAME_LOAD}", None)
    # A measure that was zero before cannot improve: only one that was not can show help.
    first = next((one for one in found if one.decides and one.before), None)
    if first is None or first.columns is None:
        return Judgement("waiting", found, _nothing(plan, match), None)
    before, after = first.columns
    absent_s = _needed_s(before, after, looks.first_level(budget))
    if math.isinf(absent_s):
        return Judgement("waiting", found, _no_occasion(first), None)
    case = _Case(match, plan, predicted, found, first, after)
    return _at_looks(case, least_s, max(least_s, absent_s, _calm_s(match.before, before)), budget)


@dataclass(frozen=True, slots=True)
class _Case:
    """A comparison: all that is known so far (`found`), and the measure that decides `first`, `after` the change."""

    match: Comparable
    plan: Plan
    predicted: Mapping[str, Interval]
    found: tuple[Figure, ...]
    first: Figure
    after: Column
    at_blocks: dict[int, tuple[Figure, ...]] = field(default_factory=dict)

    def at(self, look: Look) -> tuple[Figure, ...]:
        """The figures of the data that a look has: later blocks do not count yet."""
        kept = _within(self.after, look.within_s)
        many = int(kept.sum())
        if many == len(kept):
            return self.found
        if many not in self.at_blocks:
            new = self.match.after.only(kept)
            self.at_blocks[many] = figures(
                self.match.before, new, self.plan.measures, self.plan.deciding, self.predicted
            )
        return self.at_blocks[many]


def _at_looks(case: _Case, least_s: float, needed_s: float, budget: float) -> Judgement:
    """Harm is looked for before there are enough data to tell that the fault is gone."""
    collected_s, last_s = case.after.exposure_s, max(LONG_S, LONG_TIMES * needed_s)
    early = looks.reached(collected_s, least_s, last_s, budget)
    if early is not None and _became_worse(seen := case.at(early), case.first.measure.id, early.level):
        return Judgement("made_worse", seen, None, sentence("made_worse", [one for one in seen if one.decides]))
    look = looks.reached(collected_s, needed_s, last_s, budget)
    if look is None:
        short = _waiting(case.match.before.columns[case.first.measure.id], case.after, needed_s)
        return Judgement("waiting", case.found, short, None, needed_s, collected_s)
    return _whether_it_helped(case, look)


def _whether_it_helped(case: _Case, look: Look) -> Judgement:
    """With the data of one look."""
    seen = case.at(look)
    first = next((one for one in seen if one.measure.id == case.first.measure.id), None)
    deciding = [one for one in seen if one.decides]
    if first is not None and _better(first, look.level):
        worse = [one for one in deciding if _worse(one, look.level)]
        return Judgement("verified", seen, None, sentence("verified", deciding, worse))
    if look.next_s is None or (first is not None and _same(first)):
        return Judgement("did_not_help", seen, None, sentence("did_not_help", deciding))
    why = _undecided(first or case.first, look)
    return Judgement("waiting", case.found, why, None, look.next_s, case.after.exposure_s)


def _became_worse(seen: tuple[Figure, ...], first_id: str, level: float) -> bool:
    """Whether the first measure that decides became worse, or any other while nothing shows help.

    Each of several measures could by chance: they share the level.
    """
    deciding = [one for one in seen if one.decides]
    worse = [_worse(one, level / len(deciding)) for one in deciding]
    helped = any(one.measure.id == first_id and _better(one, level) for one in deciding)
    return bool(worse) and (worse[0] or (not helped and any(worse)))


def _within(after: Column, seconds: float) -> BoolArray:
    """The blocks that together have the first `seconds` of the recorded time."""
    begins: FloatArray = np.cumsum(after.seconds) - after.seconds
    return begins < seconds - 1e-6


def _nothing(plan: Plan, match: Comparable) -> str:
    titles = {one.id: lowered(one.title) for one in plan.measures}
    zero = " and ".join(titles[name] for name in plan.deciding if name in match.before.columns)
    if zero:
        return f"Nothing to compare: {zero} were 0 before the change, so nothing can have improved."
    wanted = " and ".join(titles[name] for name in plan.deciding) or "a figure that could decide"
    return f"Nothing to compare: {wanted} were not measured before the change."


def _no_occasion(first: Figure) -> str:
    return f"{first.measure.title}: nothing of the kind was counted after the change that could have gone wrong."


def _needed_s(before: Column, after: Column, level: float) -> float:
    """How long the fault must be absent for that to be significant (s)."""
    if counts_itself(before):
        # Counted starts, queries, and so on: as long as it takes for that many to occur.
        needed = significance.needed_s(float(np.nansum(before.part)), float(np.nansum(before.whole)), level)
        there = float(np.nansum(after.whole))
        return needed / there * after.exposure_s if there > 0 else math.inf
    known = np.isfinite(before.part)
    calm = significance.needed_blocks(int((_events(before) > 0).sum()), int(known.sum()), level)
    return calm * before.exposure_s / max(1, int(known.sum()))


def _calm_s(side: Blocks, before: Column) -> float:
    """The longest time without the fault before the change (s): for that long it was gone by itself."""
    longest = run = 0
    last_us: int | None = None
    for at_us, events in zip(side.t_us.tolist(), np.nan_to_num(_events(before)).tolist(), strict=True):
        follows = last_us is not None and at_us - last_us == side.step_us
        run = 0 if events > 0 else (run if follows else 0) + 1
        longest, last_us = max(longest, run), at_us
    return longest * side.step_us / 1e6


def _events(column: Column) -> FloatArray:
    """The events that a measure counts; else the blocks that have any of it."""
    return (np.nan_to_num(column.part) > 0).astype(np.float64) if column.events is None else column.events


def _waiting(before: Column, after: Column, needed_s: float) -> str:
    events = 0.0 if before.events is None else float(np.nansum(before.events))
    why = f"; before, it happened once every {amount(before.exposure_s / events)} s" if events > 0 else ""
    return f"{duration(needed_s)} under comparable load: {duration(after.exposure_s)} so far{why}."


def _undecided(first: Figure, look: Look) -> str:
    next_look = "" if look.next_s is None else f" The next look is at {duration(look.next_s)}."
    so_far = f"More data: after {duration(look.within_s)} "
    if first.p_value is None or first.p_value >= look.level:
        return so_far + f"the difference can still be chance (p = {first.p_value or 1:.2g}).{next_look}"
    return so_far + f"it has improved, but whether by half cannot be told yet.{next_look}"


def _better(one: Figure, level: float) -> bool:
    change = one.change
    if change is None or one.p_value is None or one.p_value >= level or change.high >= 1 or not one.noticed:
        return False
    return change.expected <= HELPS or (_as_promised(one) and change.expected <= AT_LEAST)


def _as_promised(one: Figure) -> bool:
    """Less than half was predicted to disappear, and that much did; a fix that cannot help predicts nothing."""
    return one.inside is True and one.predicted is not None and _promises(one.predicted, one)


def _promises(predicted: Interval, one: Figure) -> bool:
    if one.before is None:
        return False
    if one.measure.better == "lower":
        return predicted.expected <= AT_LEAST * one.before
    return predicted.expected * AT_LEAST >= one.before


def _worse(one: Figure, level: float) -> bool:
    if one.p_value is None or one.p_value >= level or one.before is None or one.after is None or not one.noticed:
        return False
    if one.before == 0:
        return one.after > 0 and one.measure.better == "lower"
    return one.change is not None and one.change.low > WORSE


def _same(one: Figure) -> bool:
    """Help (a reduction by half) is excluded."""
    return one.change is not None and one.change.low > HELPS
