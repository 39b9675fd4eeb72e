"""Which share of all slow answers has a known cause: those counted while an incident of their server had one.

Every answer over 20 ms counts, whether or not it belongs to an incident: also those of servers that are always that
slow, of risks, and of stalls that no finding covers. A cause covers the minutes between the onset and the last symptom
of its incident. What was read serves all requests of an organization for 10 min.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
from sqlalchemy.orm import Session

from jitterscope import cache
from jitterscope.cache import ValkeyError, valkey
from jitterscope.diagnosis.core.registry import is_residual
from jitterscope.diagnosis.core.served import METRICS
from jitterscope.diagnosis.core.stats import BoolArray
from jitterscope.incidents.api.verification_schemas import Explained
from jitterscope.incidents.api.views import time_of, us_of
from jitterscope.incidents.store import incidents
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import ResourceRow
from jitterscope.kit.allowance import borrowed
from jitterscope.series import service as series

DAYS = 7
_KEPT_S = 600
_MINUTE_US = 60_000_000
_SLOW = tuple(METRICS["slow"].values())
# The newest incidents; servers whose minutes are held at once; how deep cgroups are nested at most.
_MOST_INCIDENTS, _AT_ONCE, _DEEPEST = 2_000, 40, 64

# [from, to) in µs.
_Span = tuple[int, int]


def read(session: Session) -> Explained:
    """Over the last 7 days, and the servers seen in them (the latest, if there are very many)."""
    key = key_of(session.info["organization_id"])
    try:
        kept = valkey().get(key)
    except ValkeyError as error:
        cache.failed(error)
        kept = None
    if kept is None:
        slow, explained = _counted(session)
        try:
            valkey().set(key, f"{slow} {explained}", ex=_KEPT_S)
        except ValkeyError as error:
            cache.failed(error)
    else:
        slow, explained = map(int, str(kept).split())
    return Explained(days=DAYS, slow_answers=slow, explained=explained, ratio=explained / slow if slow else None)


def key_of(organization_id: int) -> str:
    """Where Valkey keeps the figures of an organization."""
    return f"jitterscope:explained:{organization_id}"


def _counted(session: Session) -> tuple[int, int]:
    """Slow answers, and those of them with a known cause."""
    to_us = us_of(datetime.now(UTC)) // _MINUTE_US * _MINUTE_US + _MINUTE_US
    from_us = to_us - DAYS * 86_400_000_000
    servers = inventory.resources(session, inventory.seen_servers(session, from_us, None))
    spans = _explained_spans(session, from_us)
    above = _above(session, list(servers.values()))
    slow = explained = 0.0
    # Servers of a node are read together: their ticks are in the same blocks.
    ordered = sorted(servers.values(), key=lambda one: (one.node_id, one.id))
    for at in range(0, len(ordered), _AT_ONCE):
        part = ordered[at : at + _AT_ONCE]
        with borrowed():
            found = series.read_minutes(session, [one.id for one in part], _SLOW, from_us, to_us)
            for (server_id, _), minutes in found.items():
                counted = np.nan_to_num(minutes.total)
                own = [span for resource_id in above[server_id] for span in spans.get(resource_id, ())]
                slow += float(counted.sum())
                explained += float(counted[_covered(own, from_us, len(counted))].sum())
    return round(slow), round(explained)


def _covered(spans: Sequence[_Span], from_us: int, minutes: int) -> BoolArray:
    """Which of the minutes since `from_us` the spans touch."""
    covered = np.zeros(minutes, dtype=np.bool_)
    for begin_us, end_us in spans:
        covered[max(0, (begin_us - from_us) // _MINUTE_US) : (end_us - from_us) // _MINUTE_US + 1] = True
    return covered


def _explained_spans(session: Session, from_us: int) -> Mapping[int, Sequence[_Span]]:
    """When each resource had an incident with a known cause; a container's spans are those of all its cgroups."""
    newest = incidents.seen_since(session, time_of(from_us), _MOST_INCIDENTS)
    of_subjects: dict[int, list[_Span]] = {}
    for cause, subject_id, successor_id, also_affected, onset_at, last_seen_at in newest:
        if is_residual(cause):
            continue
        for resource_id in {subject_id, successor_id, *(int(one["resource_id"]) for one in also_affected)}:
            of_subjects.setdefault(resource_id, []).append((us_of(onset_at), us_of(last_seen_at)))
    spans: dict[int, list[_Span]] = {}
    for subject_id, own in of_subjects.items():
        for resource_id in inventory.lives_of(session, subject_id):
            spans.setdefault(resource_id, []).extend(own)
    return spans


def _above(session: Session, servers: Sequence[ResourceRow]) -> Mapping[int, set[int]]:
    """The ids of everything that contains each server, up to its node."""
    parents: dict[int, int | None] = {one.id: one.parent_id for one in servers}
    for _ in range(_DEEPEST):
        unknown = {one for one in parents.values() if one is not None} - parents.keys()
        if not unknown:
            break
        known = inventory.resources(session, sorted(unknown))
        parents |= {one: known[one].parent_id if one in known else None for one in unknown}
    above: dict[int, set[int]] = {}
    for server in servers:
        chain, at = {server.node_id}, server.parent_id
        while at is not None and at not in chain:
            chain.add(at)
            at = parents.get(at)
        above[server.id] = chain
    return above
