"""The verdict on a fix: better, the same or worse, and whether there is enough to say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.finding import Interval
from jitterscope.diagnosis.verification import significance
from jitterscope.diagnosis.verification.blocks import Blocks
from jitterscope.diagnosis.verification.load import Comparable
from jitterscope.diagnosis.verification.measure import Measure, measures
from jitterscope.diagnosis.verification.wording import amount, duration, sentence

Verdict = Literal["waiting", "verified", "did_not_help", "made_worse"]
ALPHA = 0.05
# Half of it gone is help; less than that only where less was predicted.
HELPS, AT_LEAST, WORSE = 0.5, 0.9, 1.1
# After so long (and three times what absence would need) a difference that chance explains is none.
LONG_S, LONG_TIMES = 600.0, 3.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """`waiting_for` while there is no verdict, `sentence` once there is; figures in both cases.

    `needed_s`/`collected_s` (seconds of comparable load) only where more of it is what is waited for.
    """

    verdict: Verdict
    measures: tuple[Measure, ...]
    waiting_for: str | None
    sentence: str | None
    needed_s: float | None = None
    collected_s: float | None = None


def judge(
    match: Comparable,
    predicted: Mapping[str, Interval],
    p99_ms: tuple[float | None, float | None],
    least_s: float,
) -> Judgement:
    """Compare the matching blocks. `predicted`: what each metric was predicted to be after the change.

    `p99_ms` (before, after) is shown beside the others; `least_s` of comparable data are needed in any case.
    """
    before, after = match.before, match.after
    found = measures(before, after, predicted, p99_ms)
    if match.why_not is not None:
        return Judgement("waiting", found, match.why_not + " A comparison waits for the same load.", None)
    needed_s = max(least_s, _needed_s(before))
    if not np.isfinite(needed_s):
        return Judgement("waiting", found, _NOTHING, None)
    short = Judgement("waiting", found, _waiting(before, after, needed_s), None, needed_s, after.exposure_s)
    if after.exposure_s < least_s:
        return short
    deciding = [one for one in found if one.decides]
    if not deciding:
        return Judgement("waiting", found, _NOTHING, None)
    first = deciding[0]
    if _worse(first) or (not _better(first) and any(_worse(one) for one in deciding)):
        return Judgement("made_worse", found, None, sentence("made_worse", deciding))
    if after.exposure_s < needed_s:
        return short
    if _better(first):
        return Judgement("verified", found, None, sentence("verified", deciding))
    if _same(first) or after.exposure_s >= max(LONG_S, LONG_TIMES * needed_s):
        return Judgement("did_not_help", found, None, sentence("did_not_help", deciding))
    return Judgement("waiting", found, _undecided(first, after.exposure_s), None)


_NOTHING = "There was neither throttling nor a slow query before the change, so nothing can have become better."


def _needed_s(before: Blocks) -> float:
    """How long the fault's absence must last to mean something."""
    events = float(np.nansum(before.stalls))
    if events > 0:
        return significance.needed_s(events, before.exposure_s)
    # Nobody counted throttling: blocks with slow queries are the events.
    slow = float((np.nan_to_num(before.slow) > 0).sum())
    return significance.needed_s(slow, before.exposure_s)


def _waiting(before: Blocks, after: Blocks, needed_s: float) -> str:
    events = float(np.nansum(before.stalls))
    why = f" before, there was one stall every {amount(before.exposure_s / events)} s" if events > 0 else ""
    return (
        f"{duration(needed_s)} under comparable load, of which {duration(after.exposure_s)} are there;{why}".rstrip(";")
        + "."
    )


def _undecided(first: Measure, compared_s: float) -> str:
    so_far = f"More data: after {duration(compared_s)} "
    if first.p_value is None or first.p_value >= ALPHA:
        return so_far + f"the difference can still be chance (p = {first.p_value or 1:.2g})."
    return so_far + "there is less of it, but whether half of it is gone cannot be told yet."


def _better(one: Measure) -> bool:
    if one.ratio is None or one.p_value is None or one.p_value >= ALPHA or one.ratio.high >= 1:
        return False
    return one.ratio.expected <= HELPS or (one.inside is True and one.ratio.expected <= AT_LEAST)


def _worse(one: Measure) -> bool:
    if one.p_value is None or one.p_value >= ALPHA or one.before is None or one.after is None:
        return False
    return one.after > 0 if one.before == 0 else one.ratio is not None and one.ratio.low > WORSE


def _same(one: Measure) -> bool:
    """Helping (half of it gone) is excluded."""
    return one.ratio is not None and one.ratio.low > HELPS
