"""The verdict on a fix: better, the same, or worse, and whether there is enough data for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.verification import significance
from jitterscope.diagnosis.verification.blocks import Blocks, Column
from jitterscope.diagnosis.verification.figures import Figure, figures
from jitterscope.diagnosis.verification.load import Comparable
from jitterscope.diagnosis.verification.plan import Plan
from jitterscope.diagnosis.verification.wording import amount, duration, lowered, sentence

Verdict = Literal["waiting", "verified", "did_not_help", "made_worse"]
ALPHA = 0.05
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


def judge(match: Comparable, plan: Plan, predicted: Mapping[str, Interval], least_s: float) -> Judgement:
    """Compare the matching blocks. `predicted`: the predicted value of each measure after the change, by id.

    At least `least_s` of comparable data are needed in any case.
    """
    said = _judged(match, plan, predicted, least_s)
    if match.heavier is not None and said.verdict in ("did_not_help", "made_worse"):
        return Judgement("waiting", said.figures, f"{match.heavier} {_SAME_LOAD}", None)
    return said


def _judged(match: Comparable, plan: Plan, predicted: Mapping[str, Interval], least_s: float) -> Judgement:
    found = figures(match.before, match.after, plan.measures, plan.deciding, predicted)
    if match.why_not is not None:
        return Judgement("waiting", found, f"{match.why_not} {_SAME_LOAD}", None)
    deciding = [one for one in found if one.decides]
    # A measure that was zero before cannot improve: only one that was not can show help.
    first = next((one for one in deciding if one.before), None)
    if first is None or first.columns is None:
        return Judgement("waiting", found, _nothing(plan, match), None)
    before, after = first.columns
    needed_s = max(least_s, _needed_s(before, after), _calm_s(match.before, before))
    if math.isinf(needed_s):
        return Judgement("waiting", found, _no_occasion(first), None)
    short = Judgement("waiting", found, _waiting(before, after, needed_s), None, needed_s, after.exposure_s)
    if after.exposure_s < least_s:
        return short
    if _worse(deciding[0]) or (not _better(first) and any(_worse(one) for one in deciding)):
        return Judgement("made_worse", found, None, sentence("made_worse", deciding))
    if after.exposure_s < needed_s:
        return short
    if _better(first):
        worse = [one for one in deciding if _worse(one)]
        return Judgement("verified", found, None, sentence("verified", deciding, worse))
    if _same(first) or after.exposure_s >= max(LONG_S, LONG_TIMES * needed_s):
        return Judgement("did_not_help", found, None, sentence("did_not_help", deciding))
    return Judgement("waiting", found, _undecided(first, after.exposure_s), None)


def _nothing(plan: Plan, match: Comparable) -> str:
    titles = {one.id: lowered(one.title) for one in plan.measures}
    zero = " and ".join(titles[name] for name in plan.deciding if name in match.before.columns)
    if zero:
        return f"Nothing to compare: {zero} were 0 before the change, so nothing can have improved."
    wanted = " and ".join(titles[name] for name in plan.deciding) or "a figure that could decide"
    return f"Nothing to compare: {wanted} were not measured before the change."


def _no_occasion(first: Figure) -> str:
    return f"{first.measure.title}: nothing of the kind was counted after the change that could have gone wrong."


def _needed_s(before: Column, after: Column) -> float:
    """How long the fault must be absent for that to be significant (s)."""
    events = _events(before)
    if events is before.part:
        # Counted starts, queries, and so on: as long as it takes for that many to occur.
        needed = significance.needed_s(float(np.nansum(events)), float(np.nansum(before.whole)))
        there = float(np.nansum(after.whole))
        return needed / there * after.exposure_s if there > 0 else math.inf
    return significance.needed_s(float(np.nansum(events)), before.exposure_s)


def _calm_s(side: Blocks, before: Column) -> float:
    """The longest time without the fault before the change (s): for that long it was gone by itself."""
    longest = run = 0
    last_us: int | None = None
    for at_us, events in zip(side.t_us.tolist(), np.nan_to_num(_events(before)).tolist(), strict=True):
        follows = last_us is not None and at_us - last_us == side.step_us
        run = 0 if events > 0 else (run if follows else 0) + 1
        longest, last_us = max(longest, run), at_us
    return longest * side.step_us / 1e6


def _events(column: Column) -> np.typing.NDArray[np.float64]:
    """The events that a measure counts; else the blocks that have any of it. `part` itself if it counts events."""
    if column.events is None:
        return (np.nan_to_num(column.part) > 0).astype(np.float64)
    return column.part if np.array_equal(column.events, column.part, equal_nan=True) else column.events


def _waiting(before: Column, after: Column, needed_s: float) -> str:
    events = 0.0 if before.events is None else float(np.nansum(before.events))
    why = f"; before, it happened once every {amount(before.exposure_s / events)} s" if events > 0 else ""
    return f"{duration(needed_s)} under comparable load: {duration(after.exposure_s)} so far{why}."


def _undecided(first: Figure, compared_s: float) -> str:
    so_far = f"More data: after {duration(compared_s)} "
    if first.p_value is None or first.p_value >= ALPHA:
        return so_far + f"the difference can still be chance (p = {first.p_value or 1:.2g})."
    return so_far + "it has improved, but whether by half cannot be told yet."


def _better(one: Figure) -> bool:
    change = one.change
    if change is None or one.p_value is None or one.p_value >= ALPHA or change.high >= 1 or not one.noticed:
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


def _worse(one: Figure) -> bool:
    if one.p_value is None or one.p_value >= ALPHA or one.before is None or one.after is None or not one.noticed:
        return False
    if one.before == 0:
        return one.after > 0 and one.measure.better == "lower"
    return one.change is not None and one.change.low > WORSE


def _same(one: Figure) -> bool:
    """Help (a reduction by half) is excluded."""
    return one.change is not None and one.change.low > HELPS
