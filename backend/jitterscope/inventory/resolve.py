"""Maps a collector's kind and key to resource ids; creates new resources. Ids are cached in the process."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from jitterscope.db import after_commit
from jitterscope.inventory.store import arrivals as store
from jitterscope.inventory.store.arrivals import mark_throttled as mark_throttled
from jitterscope.inventory.types import ResourceKind
from jitterscope.kit.perobject import PerObject
from jitterscope.tenancy import limits

# How often `last_seen_at` of a resource is updated, and thus how long a cached id is assumed to exist.
_TOUCH_S = 60.0
_MAX_NODES = 2000
_MAX_RESOURCES = 50_000


class Spec(Protocol):
    """A resource by kind and key; `parent` is the index of its parent in the same list."""

    @property
    def kind(self) -> ResourceKind: ...
    @property
    def key(self) -> str: ...
    @property
    def parent(self) -> int: ...


@dataclass(slots=True)
class _Node:
    """Known resources of one node: (kind, key) → (id, parent id)."""

    ids: dict[tuple[str, str], tuple[int, int | None]] = field(default_factory=dict)
    # When each was last written, by our clock and by the data's: a spool delivers hours of data within seconds.
    touched: dict[int, tuple[float, float]] = field(default_factory=dict)


_Nodes = dict[tuple[int, str], _Node]
_caches: PerObject[_Nodes] = PerObject(dict)
_lock = threading.Lock()


def resolve(session: Session, organization_id: int, specs: Sequence[Spec], seen_at: datetime) -> NDArray[np.int64]:
    """Ids parallel to `specs`, whose first entry is the node and whose parents come before their children.

    `seen_at` is when the collector saw them, which for a spooled batch is long before now. Raises Problem 429 if the
    organization has too many new ones.
    """
    cache_key = (organization_id, specs[0].key)
    nodes = _caches.of(session.get_bind())
    known = nodes.get(cache_key) or _Node()
    fresh = _Node()
    now = (time.monotonic(), seen_at.timestamp())
    node = known.ids.get(("node", specs[0].key))
    stale = [
        known.ids[spec.kind, spec.key][0]
        for spec in specs
        if (spec.kind, spec.key) in known.ids and _is_due(known.touched.get(known.ids[spec.kind, spec.key][0]), now)
    ]
    if stale:
        alive = store.touch(session, stale, seen_at)
        if len(alive) != len(stale):  # resources were removed: resolve them again
            known, node = _Node(), None
        fresh.touched.update(dict.fromkeys(alive, now))
    if node is None:
        _upsert(session, organization_id, 0, specs[:1], seen_at, fresh, now)
        node = fresh.ids["node", specs[0].key]
    missing = [spec for spec in specs[1:] if (spec.kind, spec.key) not in known.ids]
    if missing:
        _upsert(session, organization_id, node[0], missing, seen_at, fresh, now)
    ids = np.fromiter(
        ((fresh.ids.get((spec.kind, spec.key)) or known.ids[spec.kind, spec.key])[0] for spec in specs),
        np.int64,
        len(specs),
    )
    _adopt(session, specs, ids, known, fresh)
    if fresh.ids or fresh.touched:
        after_commit(session, lambda: _remember(nodes, cache_key, known, fresh))
    return ids


def _is_due(touched: tuple[float, float] | None, now: tuple[float, float]) -> bool:
    return touched is None or any(new - old > _TOUCH_S for old, new in zip(touched, now, strict=True))


def _upsert(
    session: Session,
    organization_id: int,
    node_id: int,
    specs: Sequence[Spec],
    seen_at: datetime,
    fresh: _Node,
    now: tuple[float, float],
) -> None:
    created = 0
    kinds, keys = [spec.kind for spec in specs], [spec.key for spec in specs]
    for row in store.upsert(session, organization_id, node_id, kinds, keys, seen_at):
        fresh.ids[row.kind, row.key] = (row.id, row.parent_id)
        fresh.touched[row.id] = now
        created += row.created
    if created:
        limits.spend(organization_id, {"resources": created})


def _adopt(session: Session, specs: Sequence[Spec], ids: NDArray[np.int64], known: _Node, fresh: _Node) -> None:
    """Write the parents that are new or have changed (a process can move to another cgroup)."""
    changed: dict[int, int] = {}
    numbers = ids.tolist()
    for spec, own in zip(specs[1:], numbers[1:], strict=True):
        entry = (spec.kind, spec.key)
        parent = numbers[spec.parent]
        if (fresh.ids.get(entry) or known.ids[entry])[1] != parent:
            fresh.ids[entry] = (own, parent)
            changed[own] = parent
    if changed:
        store.adopt(session, changed)


def _remember(nodes: _Nodes, key: tuple[int, str], known: _Node, fresh: _Node) -> None:
    # Replaced, not modified: other threads read the old object without a lock.
    with _lock:
        if len(nodes) >= _MAX_NODES and key not in nodes:
            nodes.clear()
        current = nodes.get(key) or known
        if len(current.ids) > _MAX_RESOURCES:  # processes come and go: drop old ones
            current = _Node()
        nodes[key] = _Node(current.ids | fresh.ids, current.touched | fresh.touched)
