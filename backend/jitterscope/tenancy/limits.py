"""How much of the installation an organization may use and does use, and a warning before the limit.

Counted in Valkey for all processes together. If Valkey is down or full, nothing is refused: these limits protect
against overuse, not against everything. /readyz and the log report this (`outages`).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import structlog
from prometheus_client import Counter

from jitterscope import cache
from jitterscope.cache import ValkeyError, valkey
from jitterscope.errors import Problem
from jitterscope.events.publish import channel_of
from jitterscope.kit.perobject import PerObject
from jitterscope.settings import settings

log = structlog.get_logger(__name__)

Name = Literal[
    "nodes", "series", "external_series", "resources", "samples", "ingest_bytes", "unpacked_bytes", "diagnoses",
    "requests", "streams", "changes",
]  # fmt: skip
REFUSED = Counter("jitterscope_limit_refused_total", "Refused because an organization met its limit", ["limit"])
# The organization is warned from this fraction of a limit on.
NEAR = 0.8
_MINUTE_S = 60
# A node that sent nothing for this long does not count, and has no series.
_NODE_S = 600
# A count of what is stored is used for this long. It is renewed every hour.
_STORED_S = 7200
# Records a node (by digest) and how many series it sends, unless that is too much. KEYS: times of nodes (sorted set);
# their series, with the total under "" (hash). ARGV: now, seconds that a node counts, most nodes, most series, node (or
# "" to only count), its series. Returns what is exceeded ("" if nothing), nodes, and series. Nodes that no longer count
# are dropped, so that neither key grows beyond the limit.
_NODE = """
local function drop(gone)
    for _, node in ipairs(gone) do
        redis.call('HINCRBY', KEYS[2], '', 0 - (redis.call('HGET', KEYS[2], node) or 0))
        redis.call('HDEL', KEYS[2], node)
        redis.call('ZREM', KEYS[1], node)
    end
end
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('DEL', KEYS[2]) end
drop(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1] - ARGV[2], 'LIMIT', 0, 1000))
local nodes, series = redis.call('ZCARD', KEYS[1]), tonumber(redis.call('HGET', KEYS[2], '') or 0)
if ARGV[5] == '' then return {'', nodes, series} end
local grown = ARGV[6] - (redis.call('HGET', KEYS[2], ARGV[5]) or 0)
if not redis.call('ZSCORE', KEYS[1], ARGV[5]) and nodes >= tonumber(ARGV[3]) then return {'nodes', nodes, series} end
if series + grown > tonumber(ARGV[4]) then return {'series', nodes, series} end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[5])
redis.call('HSET', KEYS[2], ARGV[5], ARGV[6])
redis.call('HINCRBY', KEYS[2], '', grown)
for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, ARGV[2]) end
return {'', nodes, series}
"""


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
        Limit("nodes", "Nodes", "nodes", given.limit_nodes, False),
        Limit("series", "Series of nodes", "series", given.limit_series, False),
        Limit("external_series", "Stored series of remote write", "series", given.limit_external_series, False),
        Limit("resources", "New resources", "resources/min", given.limit_resources_per_min, True),
        Limit("samples", "Samples", "samples/min", given.limit_samples_per_min, True),
        Limit("ingest_bytes", "Ingested data (compressed)", "bytes/min", given.limit_ingest_bytes_per_min, True),
        Limit("unpacked_bytes", "Ingested data (unpacked)", "bytes/min", given.limit_unpacked_bytes_per_min, True),
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


def check_node(organization_id: int, node: str, series: int) -> None:
    """Record that a node sends this many series. Raises Problem 429 if there are too many nodes or series."""
    seen = _seen.of(valkey())
    digest = hashlib.blake2b(node.encode(), digest_size=16).hexdigest()
    now = time.monotonic()
    before = seen.get((organization_id, digest))
    if before is not None and before[0] == series and now - before[1] < _MINUTE_S:
        return
    try:
        exceeded = _nodes(organization_id, digest, series)[0]
    except ValkeyError as error:
        cache.failed(error)
        return
    if exceeded is not None:
        raise _refused(limits()[exceeded], organization_id, _MINUTE_S)
    if len(seen) > 100_000:
        seen.clear()
    seen[organization_id, digest] = series, now


def add_stored(organization_id: int, name: Name, added: int, count: Callable[[], int]) -> None:
    """Count rows that a transaction just added and that stay; `count` counts all of them. Raises Problem 429."""
    limit = limits()[name]
    try:
        known = valkey().get(_stored_key(organization_id, name))
        before = count() - added if known is None else int(str(known))
        if known is None:
            set_stored(organization_id, name, before)
        if before + added <= limit.most:
            valkey().incrby(_stored_key(organization_id, name), added)
    except ValkeyError as error:
        cache.failed(error)
        return
    if before + added > limit.most:
        raise _refused(limit, organization_id, _MINUTE_S)


def set_stored(organization_id: int, name: Name, total: int) -> None:
    """Set what `add_stored` counts from, after rows were counted. Raises ValkeyError."""
    valkey().set(_stored_key(organization_id, name), total, ex=_STORED_S)


def check_streams(organization_id: int) -> None:
    """Raise Problem 429 if the organization has as many open streams as it may."""
    limit = limits()["streams"]
    if _streams(organization_id) >= limit.most:
        raise _refused(limit, organization_id, 30)


def use(organization_id: int) -> list[Use]:
    """Every limit with its use. Raises ValkeyError."""
    now_s = _now_s()
    _, nodes, series = _nodes(organization_id)
    at_once: dict[Name, Callable[[], int]] = {
        "nodes": lambda: nodes,
        "series": lambda: series,
        "external_series": lambda: int(str(valkey().get(_stored_key(organization_id, "external_series")) or 0)),
        "streams": lambda: _streams(organization_id),
    }
    found = []
    for limit in limits().values():
        if limit.per_minute:
            keys = [_key(organization_id, limit.name, at_s) for at_s in (now_s, now_s - _MINUTE_S)]
            counted = valkey().mget(keys)
            used = max(int(one or 0) for one in counted)
        else:
            used = at_once[limit.name]()
        found.append(Use(limit, used))
    return found


_seen: PerObject[dict[tuple[int, str], tuple[int, float]]] = PerObject(dict)


def _nodes(organization_id: int, digest: str = "", series: int = 0) -> tuple[Name | None, int, int]:
    """What recording a node exceeds, and how many nodes and series there were before."""
    keys = [f"jitterscope:{kind}:{organization_id}" for kind in ("nodes", "node_series")]
    most = limits()
    given = [str(one) for one in (_now_s(), _NODE_S, most["nodes"].most, most["series"].most, digest, series)]
    exceeded, nodes, total = cast(Sequence[Any], valkey().eval(_NODE, len(keys), *keys, *given))
    return next((name for name in most if name == exceeded), None), int(nodes), int(total)


def _stored_key(organization_id: int, name: Name) -> str:
    return f"jitterscope:stored:{organization_id}:{name}"


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
