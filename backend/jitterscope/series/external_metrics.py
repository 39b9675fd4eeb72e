"""Metric metadata from remote-write senders: type, unit, and help text."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from jitterscope.db import after_commit
from jitterscope.kit.perobject import PerObject
from jitterscope.series.external import SEEN_EVERY_S
from jitterscope.series.store import external_metrics as stored

# Suffixes of a histogram's or summary's parts, which are described under the name without them.
FAMILY_SUFFIXES = ("_bucket", "_count", "_sum", "_total")
_MAX_CACHED = 50_000
_MAX_HELP, _MAX_UNIT = 1000, 50


@dataclass(frozen=True, slots=True)
class Described:
    """A metric family; `type` is counter, gauge, histogram, gaugehistogram, summary, info, stateset or unknown."""

    type: str
    help: str
    unit: str


# (organization, name) to a digest of what is stored and the period in which it was. The texts stay in the database.
_Stored = dict[tuple[int, str], tuple[bytes, int]]
_caches: PerObject[_Stored] = PerObject(dict)


def store(session: Session, organization_id: int, described: Mapping[str, Described]) -> None:
    """Store what is new. Senders repeat everything every minute: most calls write nothing."""
    cache = _caches.of(session.get_bind())
    period = int(time.time()) // SEEN_EVERY_S
    cut = {name: Described(one.type, one.help[:_MAX_HELP], one.unit[:_MAX_UNIT]) for name, one in described.items()}
    known: _Stored = {(organization_id, name): (_digest(one), period) for name, one in cut.items()}
    fresh = {name: cut[name] for (of, name), one in known.items() if cache.get((of, name)) != one}
    if not fresh:
        return
    stored.upsert(
        session,
        organization_id,
        list(fresh),
        types=[one.type for one in fresh.values()],
        helps=[one.help for one in fresh.values()],
        units=[one.unit for one in fresh.values()],
    )
    after_commit(session, lambda: _remember(cache, known))


def of(session: Session, names: Sequence[str]) -> dict[str, Described]:
    """Known metadata by metric name; the parts of a histogram get that of the whole."""
    wanted = {candidate for name in names for candidate in _candidates(name)}
    known = {row.name: Described(row.type, row.help, row.unit) for row in stored.of(session, wanted)}
    found = {}
    for name in names:
        candidate = next((one for one in _candidates(name) if one in known), None)
        if candidate is not None:
            found[name] = known[candidate]
    return found


def _candidates(name: str) -> list[str]:
    return [name, *(name.removesuffix(suffix) for suffix in FAMILY_SUFFIXES if name.endswith(suffix))]


def _digest(one: Described) -> bytes:
    return hashlib.blake2b("\0".join((one.type, one.help, one.unit)).encode(), digest_size=16).digest()


def _remember(cache: _Stored, known: _Stored) -> None:
    if len(cache) > _MAX_CACHED:
        cache.clear()
    cache.update(known)
