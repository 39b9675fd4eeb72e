"""The node's other cgroups that used the most CPU: what a cgroup competes with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.inventory.store import dns_servers
from jitterscope.inventory.types import SubjectTree
from jitterscope.series import service as series

# Limits on what one diagnosis searches and reads.
_MAX_CANDIDATES, MAX_CGROUPS = 512, 8
_USAGE = "cpu_usage_us"
# A cgroup that used less than a hundredth of a CPU took nothing from others.
_LEAST = 0.01


def added(session: Session, tree: SubjectTree, from_us: int, to_us: int) -> SubjectTree:
    if tree.subject.kind != "cgroup" or to_us <= from_us:
        return tree
    rows = dns_servers.on_node(session, tree.node.id, "cgroup", from_us, to_us, _MAX_CANDIDATES)
    rows = [row for row in rows if not _related(row.key, tree.subject.key)]
    used = series.read_series(session, [row.id for row in rows], [_USAGE], from_us, to_us) if rows else {}
    by_id = {resource_id: float(np.nansum(values)) for (resource_id, _), values in used.items()}
    usage = {row.key: by_id[row.id] for row in rows if row.id in by_id}
    chosen = busiest(tree.subject.key, usage, to_us - from_us)
    return replace(tree, cgroups=tuple(sorted((row for row in rows if row.key in chosen), key=lambda row: row.id)))


def busiest(subject: str, used_us: Mapping[str, float], window_us: int) -> set[str]:
    """Of cgroups by path, the at most 8 that used the most CPU themselves.

    Usage of nested cgroups is not counted again, and no two of the chosen contain each other. Excludes the subject,
    whatever contains it, and whatever it contains.
    """
    others = {key: used for key, used in used_us.items() if not _related(key, subject)}
    alone = dict(others)
    for key, used in others.items():
        above = [other for other in others if other != key and _within(key, other)]
        if above:
            alone[max(above, key=len)] -= used
    chosen: set[str] = set()
    for key in sorted(alone, key=lambda one: (-alone[one], one)):
        if alone[key] < _LEAST * window_us or len(chosen) == MAX_CGROUPS:
            break
        if not any(_related(key, other) for other in chosen):
            chosen.add(key)
    return chosen


def _within(key: str, other: str) -> bool:
    return key == other or key.startswith(other.rstrip("/") + "/")


def _related(key: str, other: str) -> bool:
    return _within(key, other) or _within(other, key)
