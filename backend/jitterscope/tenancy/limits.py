"""How much of the installation an organization may use and does use, and a warning before the limit.

Counted in Valkey for all processes together. If Valkey is down or full, nothing is refused: these limits protect
against overuse, not against everything. /readyz and the log report this (`outages`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import structlog
from prometheus_client import Counter

from jitterscope import cache
from jitterscope.cache import ValkeyError, valkey
from jitterscope.errors import Problem
from jitterscope.events.publish import channel_of
from jitterscope.kit.perobject import PerObject
from jitterscope.settings import settings

log = structlog.get_logger(__name__)

Name = Literal["series", "samples", "ingest_bytes", "diagnoses", "requests", "streams", "changes"]
REFUSED = Counter("jitterscope_limit_refused_total", "Refused because an organization met its limit", ["limit"])
# The organization is warned from this fraction of a limit on.
NEAR = 0.8
_MINUTE_S = 60
# A node that sent nothing for this long has no series.
_SERIES_S = 600


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` of something: per minute, or at once."""

    name: Name
    title: str
    unit: str
    most: int
    per_minute: bool


@dataclass(frozen=True, slots=True)
class Use:
    """How much of a limit is used: in this minute or the last full one, whichever is more, or at the moment."""

    limit: Limit
    used: int

    @property
    def near(self) -> bool:
        return self.used >= NEAR * self.limit.most


def limits() -> dict[Name, Limit]:
    """All limits by name."""
    given = settings()
    found = (
        Limit("series", "Series", "series", given.limit_series, False),
        Limit("samples", "Samples", "samples/min", given.limit_samples_per_min, True),
        Limit("ingest_bytes", "Ingested data (compressed)", "bytes/min", given.limit_ingest_bytes_per_min, True),
        Limit("diagnoses", "Diagnoses", "diagnoses/min", given.limit_diagnoses_per_min, True),
        Limit("requests", "API requests", "requests/min", given.limit_requests_per_min, True),
        Limit("changes", "Reported changes", "changes/min", given.limit_changes_per_min, True),
        Limit("streams", "Open event streams", "streams", given.limit_streams, False),
    )
    return {one.name: one for one in found}


def spend(organization_id: int, amounts: Mapping[Name, int]) -> None:
    """Count what is about to be used of per-minute limits. Raises Problem 429, and then counts nothing."""
    now_s = _now_s()
    try:
        with valkey().pipeline(transaction=False) as pipe:
            for name, amount in amounts.items():
                pipe.incrby(_key(organization_id, name, now_s), amount)
                pipe.expire(_key(organization_id, name, now_s), 3 * _MINUTE_S)
            totals = dict(zip(amounts, map(int, pipe.execute()[::2]), strict=True))
        known = limits()
        over = [known[name] for name, total in totals.items() if total > known[name].most]
        if over:
            with valkey().pipeline(transaction=False) as pipe:
                for name, amount in amounts.items():
                    pipe.decrby(_key(organization_id, name, now_s), amount)
                pipe.execute()
    except ValkeyError as error:
        cache.failed(error)
        return
    cache.worked()
    if over:
        raise _refused(over[0], organization_id, _MINUTE_S - now_s % _MINUTE_S)
    for name, total in totals.items():
        if total >= NEAR * known[name].most > total - amounts[name]:
            log.warning("limit_near", organization=organization_id, limit=name, used=total, most=known[name].most)


def allows(organization_id: int, name: Name) -> bool:
    """Count one use of something that can wait, and return whether it is allowed in this minute."""
    try:
        spend(organization_id, {name: 1})
    except Problem:
        return False
    return True


def check_series(organization_id: int, node: str, count: int) -> None:
    """Record how many series a node sends. Raises Problem 429 if all nodes together send too many."""
    seen = _seen.of(valkey())
    now = time.monotonic()
    before = seen.get((organization_id, node))
    if before is not None and before[0] == count and now - before[1] < _MINUTE_S:
        return
    key = f"jitterscope:series:{organization_id}"
    try:
        others = _series(organization_id, but=node)
        limit = limits()["series"]
        if others + count > limit.most:
            raise _refused(limit, organization_id, _MINUTE_S)
        with valkey().pipeline(transaction=False) as pipe:
            pipe.hset(key, node, f"{_now_s()} {count}")
            pipe.expire(key, _SERIES_S)
            pipe.execute()
    except ValkeyError as error:
        cache.failed(error)
        return
    if len(seen) > 100_000:
        seen.clear()
    seen[organization_id, node] = count, now


def check_streams(organization_id: int) -> None:
    """Raise Problem 429 if the organization has as many open streams as it may."""
    limit = limits()["streams"]
    if _streams(organization_id) >= limit.most:
        raise _refused(limit, organization_id, 30)


def use(organization_id: int) -> list[Use]:
    """Every limit with its use. Raises ValkeyError."""
    now_s = _now_s()
    found = []
    for limit in limits().values():
        if limit.per_minute:
            keys = [_key(organization_id, limit.name, at_s) for at_s in (now_s, now_s - _MINUTE_S)]
            counted = valkey().mget(keys)
            used = max(int(one or 0) for one in counted)
        else:
            used = _series(organization_id) if limit.name == "series" else _streams(organization_id)
        found.append(Use(limit, used))
    return found


_seen: PerObject[dict[tuple[int, str], tuple[int, float]]] = PerObject(dict)


def _series(organization_id: int, but: str | None = None) -> int:
    rows: Mapping[Any, Any] = valkey().hgetall(f"jitterscope:series:{organization_id}")
    oldest_s = _now_s() - _SERIES_S
    told = [str(row).split(" ") for node, row in rows.items() if node != but]
    return sum(int(count) for at_s, count in told if int(at_s) >= oldest_s)


def _streams(organization_id: int) -> int:
    (found,) = valkey().pubsub_numsub(channel_of(organization_id))
    return int(found[1])


def _now_s() -> int:
    return int(time.time())


def _key(organization_id: int, name: Name, at_s: int) -> str:
    return f"jitterscope:use:{organization_id}:{name}:{at_s // _MINUTE_S}"


def _refused(limit: Limit, organization_id: int, retry_s: int) -> Problem:
    REFUSED.labels(limit.name).inc()
    log.warning("limit_met", organization=organization_id, limit=limit.name, most=limit.most)
    return Problem(
        429,
        "organization-limit",
        "Limit of the organization reached",
        f"{limit.title}: this organization may use {limit.most:,} {limit.unit}.",
        "Try again after the seconds in Retry-After. Settings > Limits shows current use; the operator can raise "
        f"JITTERSCOPE_LIMIT_{limit.name.upper()}{'_PER_MIN' if limit.per_minute else ''}.",
        headers={"Retry-After": str(max(1, retry_s))},
    )
