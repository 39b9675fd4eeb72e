"""Layouts: which series a landing block holds, and in which order. Most batches of a collector share a few layouts."""

from __future__ import annotations

import hashlib
import threading
import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from jitterscope.db import after_commit
from jitterscope.kit.allowance import borrowed, hold
from jitterscope.kit.perobject import PerObject
from jitterscope.series.store import layouts as store

IdArray = NDArray[np.int64]

# An unused layout is removed after a day; a cached one is touched again within the hour.
_TRUST_S = 3600.0
_MAX_CACHED = 5000
# A large node's layouts take tens of kilobytes each, and a series that changes its width creates a new one.
_MAX_CONTENT_BYTES = 8 * 1024 * 1024


@dataclass(slots=True)
class _Cache:
    ids: dict[tuple[int, bytes], tuple[int, float]] = field(default_factory=dict)
    contents: dict[tuple[int, int], IdArray] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


_caches = PerObject(_Cache)

# Layouts received together: each has 200,000 series at most.
_AT_ONCE = 4


class DuplicateSeries(ValueError):
    """A block lists the same series twice."""


def layout_id(session: Session, organization_id: int, series: IdArray) -> int:
    """The id of the layout with exactly these series in this order, created if needed. Raises DuplicateSeries."""
    digest = hashlib.blake2b(series.tobytes(), digest_size=16).digest()
    key = (organization_id, digest)
    now = time.monotonic()
    cache = _caches.of(session.get_bind())
    cached = cache.ids.get(key)
    if cached is not None and now - cached[1] < _TRUST_S:
        return cached[0]
    if len(np.unique(series)) != len(series):
        raise DuplicateSeries
    identity = store.upsert(session, organization_id, digest, series.tolist())
    after_commit(session, lambda: _remember(cache, key, identity, now))
    return identity


def contents(session: Session, organization_id: int, layout_ids: list[int]) -> dict[int, IdArray]:
    """Series ids of each layout. Layouts never change, so they are cached."""
    cache = _caches.of(session.get_bind())
    known = cache.contents  # replaced, never changed
    missing = [identity for identity in layout_ids if (organization_id, identity) not in known]
    if missing:
        read: dict[tuple[int, int], IdArray] = {}
        with borrowed(), store.contents(session, missing, _AT_ONCE) as rows:
            for identity, series in rows:
                hold(8 * len(series))
                read[organization_id, identity] = np.array(series, np.int64)
        known = known | read
        with cache.lock:
            cache.contents = _bounded(cache.contents | read)
    return {
        identity: known[organization_id, identity] for identity in layout_ids if (organization_id, identity) in known
    }


def _bounded(contents: dict[tuple[int, int], IdArray]) -> dict[tuple[int, int], IdArray]:
    """Drop the oldest entries until the rest fits the byte limit."""
    excess = sum(one.nbytes for one in contents.values()) - _MAX_CONTENT_BYTES
    keys = iter(list(contents))
    while excess > 0:
        excess -= contents.pop(next(keys)).nbytes
    return contents


def _remember(cache: _Cache, key: tuple[int, bytes], identity: int, now: float) -> None:
    with cache.lock:
        if len(cache.ids) > _MAX_CACHED:
            cache.ids.clear()
        cache.ids[key] = (identity, now)
