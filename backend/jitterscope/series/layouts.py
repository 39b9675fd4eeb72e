"""Layouts: which series a landing block holds, in which order. Most batches of a collector share a few layouts."""

from __future__ import annotations

import hashlib
import threading
import time

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT
from sqlalchemy.orm import Session

from jitterscope.db import after_commit

IdArray = NDArray[np.int64]

# An unused layout is removed after a day; a cached one is written again within the hour.
_TRUST_S = 3600.0
_MAX_CACHED = 5000

_ids: dict[tuple[int, bytes], tuple[int, float]] = {}
_contents: dict[tuple[int, int], IdArray] = {}
_lock = threading.Lock()

_UPSERT = text(
    "INSERT INTO series_layouts (organization_id, digest, series_ids) VALUES (:organization, :digest, :series) "
    "ON CONFLICT (organization_id, digest) DO UPDATE SET used_at = now() RETURNING id"
).bindparams(bindparam("series", type_=ARRAY(BIGINT)))


class DuplicateSeries(ValueError):
    """A block names the same series twice."""


def layout_id(session: Session, organization_id: int, series: IdArray) -> int:
    """The id of the layout with exactly these series in this order; makes it. Raises DuplicateSeries."""
    digest = hashlib.blake2b(series.tobytes(), digest_size=16).digest()
    key = (organization_id, digest)
    now = time.monotonic()
    cached = _ids.get(key)
    if cached is not None and now - cached[1] < _TRUST_S:
        return cached[0]
    if len(np.unique(series)) != len(series):
        raise DuplicateSeries
    identity: int = session.execute(
        _UPSERT, {"organization": organization_id, "digest": digest, "series": series.tolist()}
    ).scalar_one()
    after_commit(session, lambda: _remember(key, identity, now))
    return identity


def contents(session: Session, organization_id: int, layout_ids: list[int]) -> dict[int, IdArray]:
    """Series ids of each layout. Layouts never change, so they are cached."""
    missing = [identity for identity in layout_ids if (organization_id, identity) not in _contents]
    if missing:
        rows = session.execute(
            text("SELECT id, series_ids FROM series_layouts WHERE id = ANY(:ids)").bindparams(
                bindparam("ids", type_=ARRAY(BIGINT))
            ),
            {"ids": missing},
        )
        with _lock:
            if len(_contents) > _MAX_CACHED:
                _contents.clear()
            for row in rows:
                _contents[organization_id, row.id] = np.array(row.series_ids, np.int64)
    return {
        identity: _contents[organization_id, identity]
        for identity in layout_ids
        if (organization_id, identity) in _contents
    }


def _remember(key: tuple[int, bytes], identity: int, now: float) -> None:
    with _lock:
        if len(_ids) > _MAX_CACHED:
            _ids.clear()
        _ids[key] = (identity, now)
