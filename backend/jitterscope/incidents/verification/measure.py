"""Measures a waiting verification: reads both sides, compares, and reports the result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.landing import Seen, Unseen
from jitterscope.diagnosis.core.registry import fix_of
from jitterscope.diagnosis.core.snapshot import FloatArray
from jitterscope.diagnosis.verification import looks
from jitterscope.diagnosis.verification.blocks import BLOCK_US, Blocks, blocks
from jitterscope.diagnosis.verification.changes import RESTART
from jitterscope.diagnosis.verification.figures import Figure
from jitterscope.diagnosis.verification.load import Comparable, comparable
from jitterscope.diagnosis.verification.plan import Plan, plan, sightings, watched
from jitterscope.diagnosis.verification.verdict import Judgement, Verdict, judge
from jitterscope.incidents.api.verification_schemas import BlockLane, BlockSeries, VerificationResult, VerifiedMeasure
from jitterscope.incidents.api.views import time_of, us_of
from jitterscope.incidents.verification.models import VerificationRow
from jitterscope.incidents.verification.verifications import BEFORE, intervals
from jitterscope.incidents.verification.window import read
from jitterscope.inventory import service as inventory
from jitterscope.settings import settings

# After this long without a comparison, a difference can no longer be attributed to the fix.
GIVE_UP_US = 24 * 3600 * 1_000_000
# A verification that waits for long is checked less often: at most a twentieth of its age passes between checks.
_PATIENCE = 20
_UNTESTED = "two figures, no test"


@dataclass(frozen=True, slots=True)
class Measured:
    """The result of a look. `gave_up`: no verdict will come."""

    verdict: Verdict
    waiting_for: str | None
    sentence: str | None
    result: VerificationResult
    figures: tuple[Figure, ...]
    gave_up: bool = False


def due(waiting: VerificationRow) -> bool:
    """Whether there may be news since the last look."""
    if waiting.checked_at is None:
        return True
    now = datetime.now(UTC)
    return now - waiting.checked_at >= min((now - waiting.created_at) / _PATIENCE, timedelta(minutes=10))


def measure(session: Session, cause_id: str, waiting: VerificationRow) -> Measured:
    """Compare the data available so far."""
    subject = inventory.resource(session, waiting.subject_id)
    clock_us = None if subject is None else inventory.node_clock_us(session, subject.node_id)
    applied_us = us_of(waiting.applied_at)
    if subject is None or clock_us is None:
        gone = "Data: the resource or the collector of its node no longer exists."
        late = datetime.now(UTC) - waiting.created_at > timedelta(microseconds=GIVE_UP_US)
        return Measured("waiting", gone, None, VerificationResult(), (), gave_up=late)
    gave_up = clock_us - applied_us > GIVE_UP_US
    settle_s = max(settings().verification_settle_s, effective_s(cause_id, waiting))
    window = window_of(applied_us, clock_us, of_node=subject.kind == "node", settle_s=settle_s)
    if clock_us - window.from_us < BLOCK_US:
        wanted = f"Data from at least {settle_s:g} s after the change."
        return Measured("waiting", wanted, None, VerificationResult(), (), gave_up)
    how = plan(cause_id, waiting.fix_id)
    before_window = us_of(waiting.before_from), us_of(waiting.before_to)
    before = read(session, waiting.before_subject_id, *before_window, how.needs)
    after = read(session, waiting.subject_id, window.from_us, clock_us, how.needs)
    if before is None or after is None:
        side = "before" if before is None else "after"
        return Measured("waiting", f"Data from {side} the change is missing.", None, VerificationResult(), (), gave_up)
    old, new = blocks(before, how.measures, how.loads), blocks(after, how.measures, how.loads)
    # Each of more servers has a part of the load: comparable is what they have together.
    servers_ratio = _servers_ratio(session, cause_id, waiting, clock_us)
    match = comparable(old, new.under(servers_ratio), how.loads, how.deciding)
    found = judge(match, how, _predicted(waiting), settings().verification_least_s, window.budget)
    result = VerificationResult(
        after_from=time_of(window.from_us),
        after_to=time_of(clock_us),
        measures=[_shown(one, intervals(waiting.promised)) for one in found.figures],
        before=_series(old, how, found, match),
        after=_series(new, how, found, match),
        notes=[
            *_unseen(cause_id, waiting),
            *_notes(waiting, how, match, servers_ratio, len(old) - len(match.before), len(new) - len(match.after)),
        ],
        needed_s=found.needed_s,
        collected_s=found.collected_s,
    )
    return Measured(found.verdict, found.waiting_for, found.sentence, result, found.figures, gave_up)


@dataclass(frozen=True, slots=True)
class Window:
    """The data after a change that are compared now, and the error that looks at them share."""

    from_us: int
    budget: float


def effective_s(cause_id: str, waiting: VerificationRow) -> float:
    """How long what was changed may have had no effect yet."""
    names = {str(step["name"]) for step in waiting.changes}
    if RESTART.name in names:
        return 0.0
    fix_ids = [] if waiting.fix_id is None else [waiting.fix_id]
    facts = {one.fact: one.effective_s for one in watched(cause_id, fix_ids)}
    seen = {one.id: one.effective_s for one in sightings(cause_id, fix_ids)}
    return max((found for name, found in (facts | seen).items() if name in names), default=0.0)


def window_of(applied_us: int, clock_us: int, *, of_node: bool, settle_s: float) -> Window:
    """Each window begins where the one before ended without a verdict: sliding ones would be ever new looks."""
    span_us = int(BEFORE[of_node].total_seconds() * 1e6)
    settled_us = applied_us + int(settle_s * 1e6)
    number = max(0, (clock_us - settled_us - BLOCK_US) // span_us)
    return Window(settled_us + number * span_us, looks.budget(number, math.ceil(GIVE_UP_US / span_us)))


def _servers_ratio(session: Session, cause_id: str, waiting: VerificationRow, clock_us: int) -> float:
    """How many times as many servers share the load since the change."""
    kind = None if waiting.fix_id is None else fix_of(cause_id, waiting.fix_id)
    if kind is None or not isinstance(kind.landing, Unseen) or not kind.landing.adds_pods:
        return waiting.servers_ratio
    # Whoever declares it may do so after the pods have started.
    before = inventory.pods_at(session, waiting.before_subject_id, us_of(waiting.before_from))
    after = inventory.pods_at(session, waiting.subject_id, clock_us)
    return max(1.0, after / before) if before and after else 1.0


def _predicted(waiting: VerificationRow) -> dict[str, Interval]:
    """The prediction for what was applied; if that could not be replayed, what the fix promised."""
    return intervals(waiting.predicted) or intervals(waiting.promised)


def _shown(one: Figure, promised: dict[str, Interval]) -> VerifiedMeasure:
    return VerifiedMeasure(
        metric=one.measure.id,
        title=one.measure.title,
        unit=one.measure.unit,
        better=one.measure.better,
        before=one.before,
        after=one.after,
        ratio=one.ratio,
        p_value=one.p_value,
        test=one.test or _UNTESTED,
        decides=one.decides,
        predicted=one.predicted,
        promised=promised.get(one.measure.id),
        inside=one.inside,
    )


def _series(side: Blocks, how: Plan, found: Judgement, match: Comparable) -> BlockSeries:
    """The figures that have blocks, deciding ones first; then the load that they are compared at."""
    lanes = []
    with np.errstate(invalid="ignore", divide="ignore"):
        for one in found.figures:
            column = side.columns.get(one.measure.id)
            if column is not None:
                kind, values = one.measure, _column(column.part / column.whole)
                lanes.append(BlockLane(id=kind.id, title=kind.title, unit=kind.unit, values=values))
    loads = [match.by] if match.by is not None else [load for load in how.loads if load.id in side.loads][:1]
    lanes += [
        BlockLane(
            id=f"load.{one.id}",
            title="Peak load" if one.peak else "Load",
            unit=one.unit,
            values=_column(side.loads[one.id]),
        )
        for one in loads
        if one.id in side.loads
    ]
    return BlockSeries(t_us=side.t_us.tolist(), step_us=side.step_us, lanes=lanes)


def _column(values: FloatArray) -> list[float | None]:
    return [round(value, 6) if np.isfinite(value) else None for value in values.tolist()]


def _unseen(cause_id: str, waiting: VerificationRow) -> list[str]:
    """Says so if somebody reported a fix that would show, and it did not: it may never have reached the workload."""
    kind = None if waiting.fix_id is None else fix_of(cause_id, waiting.fix_id)
    if kind is None or not isinstance(kind.landing, Seen) or waiting.changes or waiting.started_by == "jitterscope":
        return []
    return [f"The collector did not see this fix take effect. What it would see: {kind.landing.how}"]


def _notes(
    waiting: VerificationRow,
    how: Plan,
    match: Comparable,
    servers_ratio: float,
    dropped_before: int,
    dropped_after: int,
) -> list[str]:
    notes = []
    if match.why_not is None and match.unsure is not None:
        notes.append(f"{match.unsure} A verdict takes clearer data.")
    elif match.why_not is None and match.by is None:
        notes.append("No load is measured here, so it might differ before and after the change.")
    elif match.bursts_from is not None:
        assert match.by is not None
        notes.append(
            f"Only blocks with a burst of {match.bursts_from:,.0f} {match.by.unit} or more are compared: "
            f"{len(match.before)} before and {len(match.after)} after the change."
        )
    elif match.by is not None and match.by.id != how.loads[0].id:
        notes.append(
            f"No {how.loads[0].unit} are known here: load is compared by {match.by.unit}, which is less precise."
        )
    if servers_ratio > 1 and match.by is not None:
        notes.append(
            f"{servers_ratio:.3g} times as many servers share the load since the change, so the {match.by.unit} "
            "of this one count that many times in the comparison."
        )
    if match.bursts_from is None and (dropped_before or dropped_after):
        notes.append(
            f"Left out because their load differs: {dropped_before} of the blocks before and {dropped_after} of those "
            "after the change."
        )
    if waiting.changes and all(step["name"] == "restart" for step in waiting.changes):
        notes.append("Only a restart was seen. A fault that grows with time comes back.")
    return notes
