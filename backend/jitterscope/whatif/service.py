"""Answers what-if requests: reads and prepares the window once, then replays it under each setting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from jitterscope import asked
from jitterscope.db import organization_session
from jitterscope.diagnosis.whatif.predict import Prepared, predict, prepare
from jitterscope.diagnosis.whatif.trace import from_snapshot
from jitterscope.diagnosis.whatif.types import Setting, Trace
from jitterscope.errors import Problem, not_found
from jitterscope.incidents import snapshots
from jitterscope.incidents.schemas import SubjectRef
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import ResourceRow
from jitterscope.whatif import columns, recorded, shown
from jitterscope.whatif.schemas import Instant, RecordedFigures, SettingChange, WhatIfRequest
from jitterscope.whatif.search import found
from jitterscope.whatif.windows import RecentWindows

DEFAULT_WINDOW_US = 600_000_000
MAX_WINDOW_US = 1_800_000_000
# Long enough for moving sliders; the data of a window can still grow (late batches), so not for longer.
_KEPT, _KEPT_S = 8, 90.0
# min_cfs_quota_period of kernel/sched/core.c.
_LEAST_QUOTA_US = 1_000


@dataclass(frozen=True, slots=True)
class Held:
    """A window that was read: its trace, ready to be replayed."""

    subject: SubjectRef
    trace: Trace
    prepared: Prepared
    figures: RecordedFigures
    notes: tuple[str, ...]


_recent: RecentWindows[Held] = RecentWindows(_KEPT, _KEPT_S)


def answer(organization_id: int, request: WhatIfRequest) -> dict[str, Any]:
    """The content of schemas.WhatIf; columns are numpy, NaN stands for a missing tick. Raises Problem 404, 422."""
    with organization_session(organization_id) as session:
        subject = subject_of(session, request.resource_id)
        from_us, to_us = window_of(session, subject, request.from_, request.to)
        # Under the organization's id: nobody is answered from what another one's request left behind.
        key = (organization_id, subject.id, from_us, to_us)
        held = _recent.get(key, lambda: _load(session, subject, from_us, to_us))
    trace = held.trace
    settings = [_setting(trace.setting, number, change) for number, change in enumerate(request.settings)]
    points = request.points if request.timeline else 0
    return {
        "resource_id": subject.id,
        "subject": held.subject.model_dump(),
        "from_us": from_us,
        "to_us": to_us,
        "slow_threshold_us": trace.slow_threshold_us,
        "node_cpus": trace.node_cpus if math.isfinite(trace.node_cpus) else None,
        "recorded": {
            "setting": shown.setting(trace.setting),
            "figures": held.figures.model_dump(),
            "timeline": columns.recorded(trace, points) if points else None,
        },
        "predictions": [
            shown.prediction(predict(held.prepared, setting, timeline=points > 0), points) for setting in settings
        ],
        "search": None if request.search is None else found(held.prepared, request.search),
        "notes": list(held.notes),
    }


def subject_of(session: Session, resource_id: int) -> ResourceRow:
    """The cgroup that a resource is or lives in. Raises Problem 404, 422."""
    subject = inventory.owning_cgroup(session, resource_id)
    if subject is not None:
        return subject
    if inventory.resource(session, resource_id) is None:
        raise not_found("resource", resource_id)
    raise Problem(
        422,
        "no-cgroup",
        "Nothing to replay",
        "A what-if replays the CPU of a cgroup; this resource is in none.",
        "Ask for one of the cgroups below it.",
    )


def window_of(session: Session, subject: ResourceRow, from_: Instant | None, to: Instant | None) -> tuple[int, int]:
    """On the grid (µs). The newest ten minutes where nothing else is asked for. Raises Problem 422."""
    newest_us = inventory.node_clock_us(session, subject.node_id) or subject.last_seen_us
    to_us = asked.instant(str(to)) if to is not None else newest_us
    from_us = asked.instant(str(from_)) if from_ is not None else to_us - DEFAULT_WINDOW_US
    asked.check_window(from_us, to_us, MAX_WINDOW_US)
    return asked.on_grid(from_us, to_us)


def _load(session: Session, subject: ResourceRow, from_us: int, to_us: int) -> Held:
    tree = inventory.subject_tree(session, subject.id, from_us, to_us)
    if tree is None:
        raise not_found("resource", subject.id)
    snapshot = snapshots.read(session, tree, from_us, to_us)
    trace = from_snapshot(snapshot)
    if not isinstance(trace, str) and (part := _recorded_part(trace)) != (from_us, to_us):
        # A minute before the first data is no minute without throttling: rates are of what was recorded.
        snapshot = snapshots.read(session, tree, *part)
        trace = from_snapshot(snapshot)
    if isinstance(trace, str):
        raise Problem(422, "not-enough-data", "Not enough data", trace, "Ask for a window in which the collector ran.")
    ref = SubjectRef(resource_id=subject.id, kind=subject.kind, key=subject.key, name=subject.name, node=tree.node.name)
    figures = recorded.figures(trace)
    return Held(ref, trace, prepare(trace), figures, _notes(trace, snapshot.unavailable, to_us - from_us))


def _recorded_part(trace: Trace) -> tuple[int, int]:
    """From the first to the last tick with CPU use (µs)."""
    known = np.flatnonzero(np.isfinite(trace.usage_us))
    first, last = int(known[0]), int(known[-1]) + 1
    return trace.start_us + first * trace.step_us, trace.start_us + last * trace.step_us


def _notes(trace: Trace, unavailable: Mapping[str, str], window_us: int) -> tuple[str, ...]:
    """What is not known of the window."""
    known_us = float(np.isfinite(trace.usage_us).sum()) * trace.step_us
    notes = [f"{name}: {why}" for name, why in unavailable.items()]
    if known_us < 0.9 * window_us:
        notes.append(f"CPU use was recorded for {known_us / 1e6:.0f} of {window_us / 1e6:.0f} s.")
    return tuple(notes)


def _setting(base: Setting, number: int, change: SettingChange) -> Setting:
    """The recorded setting with what was given. Raises Problem 422 where that is no setting."""
    given = {name: getattr(change, name) for name in change.model_fields_set}
    for name in ("period_us", "burst_us", "gomaxprocs"):
        if given.get(name, ...) is None:
            del given[name]
    setting = replace(base, **given)
    if "burst_us" not in given and setting.quota_us is not None:
        # The kernel allows no more burst than quota; who lowers the limit means to keep what fits.
        setting = replace(setting, burst_us=min(setting.burst_us, int(setting.quota_us)))
    quota_us = setting.quota_us
    if quota_us is not None and setting.burst_us > quota_us:
        why = f"A burst of {setting.burst_us} µs is more than the quota of {quota_us:.0f} µs."
        raise _invalid(number, "burst_us", why)
    if quota_us is not None and quota_us < _LEAST_QUOTA_US:
        why = f"The quota would be {quota_us:.0f} µs; the kernel takes no less than {_LEAST_QUOTA_US} µs."
        raise _invalid(number, "cpu_limit", why)
    return setting


def _invalid(number: int, name: str, why: str) -> Problem:
    return Problem(
        422,
        "invalid-setting",
        "Invalid setting",
        why,
        "Change it, or leave it out to keep what was recorded.",
        errors=[{"location": f"body.settings.{number}.{name}", "message": why, "kind": "invalid_setting"}],
    )


def forget() -> None:
    """Read every window anew from now on."""
    _recent.clear()
