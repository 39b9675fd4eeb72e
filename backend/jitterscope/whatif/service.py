"""Answers what-if requests: reads the window once, then lets the model try each set of settings on it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict
from threading import Condition
from typing import Any

import numpy as np
from cachetools import TTLCache, cached
from sqlalchemy.orm import Session

from jitterscope import requested_window
from jitterscope.db import organization_session
from jitterscope.diagnosis.core.area import WhatIf
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.core.whatif import Figure, Goal, InvalidSettingError, Timeline, Trials, Tried
from jitterscope.errors import Problem, not_found
from jitterscope.incidents.api.schemas import SubjectRef
from jitterscope.incidents.scheduling import snapshots
from jitterscope.incidents.timeline.downsample import fold_max, fold_sum
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import ResourceRow
from jitterscope.whatif import models
from jitterscope.whatif.schemas import Instant, WhatIfRequest

DEFAULT_WINDOW_US = 600_000_000
MAX_WINDOW_US = 1_800_000_000
# Long enough for moving sliders; the data of a window can still grow (late batches), so no longer.
_KEPT, _KEPT_S = 8, 90.0


def answer(organization_id: int, model_id: str, request: WhatIfRequest) -> dict[str, Any]:
    """The content of schemas.WhatIf; columns are numpy, NaN stands for a missing tick. Raises Problem 404, 422."""
    model = models.named(model_id)
    with organization_session(organization_id) as session:
        subject, node = _subject(session, model, request.resource_id)
        from_us, to_us = window_of(session, subject, request.from_, request.to)
        snapshot = _load(organization_id, session, model, subject, from_us, to_us)
    goal = None if request.search is None else Goal(request.search.metric, request.search.at_most)
    try:
        settings = models.checked(model, request.settings)
        said = model.answer(snapshot, Trials(settings, request.timeline, goal))
    except InvalidSettingError as error:
        raise _invalid(error) from error
    points = request.points
    searched = said.searched
    return {
        "model": model.id,
        "resource_id": subject.id,
        "subject": SubjectRef(
            resource_id=subject.id, kind=subject.kind, key=subject.key, name=subject.name, node=node.name
        ).model_dump(),
        "from_us": from_us,
        "to_us": to_us,
        "slow_threshold_us": said.slow_threshold_us,
        "settings": dict(said.settings),
        "figures": [_plain(one) for one in said.figures],
        "timeline": None if said.timeline is None else _timeline(said.timeline, points),
        "tried": [_tried(one, points) for one in said.tried],
        "suggestions": [{"title": one.title, "settings": dict(one.settings)} for one in said.suggestions],
        "search": None
        if searched is None
        else [
            {
                "control": one.control,
                "value": one.value,
                "sentence": one.sentence,
                "tried": None if one.tried is None else _tried(one.tried, points),
            }
            for one in searched
        ],
        "ranges": {name: asdict(one) for name, one in said.ranges.items()},
        "choices": {name: list(one) for name, one in said.choices.items()},
        "notes": [*_notes(snapshot, model, to_us - from_us), *said.notes],
        "cannot_tell": said.cannot_tell,
    }


def _subject(session: Session, model: WhatIf, resource_id: int) -> tuple[ResourceRow, ResourceRow]:
    """The resource that the model replays, and its node. Raises Problem 404, 422."""
    own = inventory.resource(session, resource_id)
    node = None if own is None else inventory.resource(session, own.node_id)
    if own is None or node is None:
        raise not_found("resource", resource_id)
    if model.subject == "node":
        return node, node
    subject = inventory.owning_cgroup(session, resource_id)
    if subject is None:
        raise Problem(
            422,
            "no-cgroup",
            "Nothing to replay",
            "This what-if replays a cgroup. The resource is not in one.",
            "Choose one of the cgroups below it.",
        )
    return subject, node


def window_of(session: Session, subject: ResourceRow, from_: Instant | None, to: Instant | None) -> tuple[int, int]:
    """The window on the grid (µs). By default the newest ten minutes. Raises Problem 422."""
    newest_us = inventory.node_clock_us(session, subject.node_id) or subject.last_seen_us
    to_us = requested_window.instant(str(to)) if to is not None else newest_us
    from_us = requested_window.instant(str(from_)) if from_ is not None else to_us - DEFAULT_WINDOW_US
    requested_window.check_window(from_us, to_us, MAX_WINDOW_US)
    return requested_window.on_grid(from_us, to_us)


def _key(organization_id: int, _: Session, model: WhatIf, subject: ResourceRow, from_us: int, to_us: int) -> Hashable:
    """Includes the organization, so that no request is answered from another organization's data."""
    return organization_id, subject.id, from_us, to_us, model.recorded_by


@cached(TTLCache(_KEPT, _KEPT_S), key=_key, condition=Condition())
def _load(_: int, session: Session, model: WhatIf, subject: ResourceRow, from_us: int, to_us: int) -> Snapshot:
    """The window, of about 10 MB, cached with what models prepare from it. Requests for one that is being read wait."""
    tree = inventory.subject_tree(session, subject.id, from_us, to_us)
    if tree is None:
        raise not_found("resource", subject.id)
    snapshot = snapshots.read(session, tree, from_us, to_us)
    if model.recorded_by is None:
        return snapshot
    known = np.flatnonzero(np.isfinite(snapshot.subject.series.get(model.recorded_by, np.empty(0))))
    if not len(known):
        return snapshot
    # A minute before the first data is not a minute without trouble: rates cover what was recorded.
    first, last = (snapshot.start_us + int(at) * snapshot.step_us for at in (known[0], known[-1] + 1))
    return snapshot if (first, last) == (from_us, to_us) else snapshots.read(session, tree, first, last)


def _notes(snapshot: Snapshot, model: WhatIf, window_us: int) -> list[str]:
    """What is not known about the window."""
    notes = [f"{name}: {why}" for name, why in snapshot.unavailable.items()]
    values = None if model.recorded_by is None else snapshot.subject.series.get(model.recorded_by)
    if values is not None:
        known_us = float(np.isfinite(values).sum()) * snapshot.step_us
        if known_us < 0.9 * window_us:
            notes.append(f"CPU use was recorded for {known_us / 1e6:.0f} of {window_us / 1e6:.0f} s.")
    return notes


def _tried(one: Tried, points: int) -> dict[str, Any]:
    return {
        "settings": dict(one.settings),
        "figures": [_plain(figure) for figure in one.figures],
        "outcome": one.outcome,
        "good": one.good,
        "cannot_tell": one.cannot_tell,
        "notes": list(one.notes),
        "timeline": None if one.timeline is None else _timeline(one.timeline, points),
    }


def _plain(figure: Figure) -> dict[str, Any]:
    interval = figure.interval
    return {
        "id": figure.id,
        "title": figure.title,
        "unit": figure.unit,
        "value": figure.value,
        "interval": None if interval is None else interval.model_dump(),
    }


def _timeline(one: Timeline, points: int) -> dict[str, Any]:
    ticks = max((len(course.values) for course in one.courses), default=0)
    fold = max(1, -(-ticks // points))
    folds = {"most": fold_max, "sum": fold_sum}
    return {
        "t_us": one.start_us + np.arange(-(-ticks // fold), dtype=np.int64) * (one.step_us * fold),
        "step_us": one.step_us * fold,
        # Hundredths of a percent and whole µs are finer than any screen; short numbers transfer faster.
        "lines": [
            {"id": course.id, "values": np.round(folds[course.merged](course.values, fold), 4)}
            for course in one.courses
        ],
        "spans": [{"from_us": since, "to_us": until} for since, until in one.spans],
    }


def _invalid(error: InvalidSettingError) -> Problem:
    return Problem(
        422,
        "invalid-setting",
        "Invalid setting",
        error.why,
        "Change it, or omit it to keep what was recorded.",
        errors=[
            {
                "location": f"body.settings.{error.number}.{error.control}",
                "message": error.why,
                "kind": "invalid_setting",
            }
        ],
    )


def forget() -> None:
    """Discard all cached windows."""
    _load.cache_clear()
