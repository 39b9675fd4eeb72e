"""The tree of resources: a node has cgroups, cgroups have cgroups, processes, and servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy import Row, TextClause, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT
from sqlalchemy.orm import Session

from jitterscope.inventory.types import ResourceKind, ResourceRow, SubjectTree
from jitterscope.kit.allowance import hold, room

COLUMNS = "id, kind, key, name, parent_id, node_id, first_seen_at, last_seen_at"
# A resource's last_seen_at is updated once a minute.
SEEN_SLACK_US = 120_000_000
# Memory per resource: a key and a name of up to 512 bytes each, twice while rows are converted.
_ROW_BYTES = 1500
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_BY_ID = text(f"SELECT {COLUMNS} FROM resources WHERE id = ANY(:ids)").bindparams(  # noqa: S608
    bindparam("ids", type_=ARRAY(BIGINT))
)
# From each of :ids (`wanted`) up to its node, nearest first by `depth`; the limit stops a cycle, which two concurrent
# moves could create.
UPWARDS = """
    WITH RECURSIVE up AS (
        SELECT id AS wanted, id, kind, parent_id, 0 AS depth FROM resources WHERE id = ANY(:ids)
        UNION ALL
        SELECT up.wanted, r.id, r.kind, r.parent_id, up.depth + 1
          FROM up JOIN resources r ON r.id = up.parent_id WHERE up.depth < 64 AND r.id <> up.id
    )
"""
_CHILDREN = text(
    f"SELECT {COLUMNS} FROM resources WHERE parent_id = :id AND id <> :id "  # noqa: S608
    "AND (CAST(:kind AS text) IS NULL OR kind = :kind) ORDER BY kind, name, id LIMIT :room"
)
_ANCESTORS = text(
    f"""
    WITH RECURSIVE up AS (
        SELECT id AS below, parent_id AS at, 0 AS depth FROM resources WHERE id = ANY(:ids)
        UNION ALL
        SELECT up.below, r.parent_id, up.depth + 1 FROM up JOIN resources r ON r.id = up.at WHERE up.depth < 64
    )
    SELECT below, {COLUMNS} FROM up JOIN resources ON id = at ORDER BY depth
    """  # noqa: S608
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)))
# Each resource's nearest cgroup: itself, or the first one upwards; a node is its own subject.
_SUBJECTS = text(
    """
    WITH RECURSIVE up AS (
        SELECT id AS wanted, id, parent_id, kind, 0 AS depth FROM resources WHERE id = ANY(:ids)
        UNION ALL
        SELECT up.wanted, r.id, r.parent_id, r.kind, up.depth + 1 FROM up JOIN resources r ON r.id = up.parent_id
         WHERE up.depth < 64 AND up.kind NOT IN ('cgroup', 'node')
    )
    SELECT wanted, id FROM up WHERE kind = 'cgroup' OR (kind = 'node' AND depth = 0)
    """
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)))
_SEEN_SINCE = text(
    f"SELECT {COLUMNS}, count(*) OVER () AS found FROM resources "  # noqa: S608
    "WHERE kind = :kind AND last_seen_at >= to_timestamp(:from_us / 1e6) ORDER BY last_seen_at DESC, id LIMIT :limit"
)
_DESCENDANTS = text(
    f"""
    WITH RECURSIVE down AS (
        SELECT id AS wanted, 0 AS depth FROM resources WHERE id = ANY(:ids)
        UNION ALL
        SELECT r.id, down.depth + 1 FROM down JOIN resources r ON r.parent_id = down.wanted AND r.id <> down.wanted
         WHERE down.depth < 64 AND r.kind <> 'dns_path'
    )
    SELECT {COLUMNS} FROM (SELECT DISTINCT wanted FROM down) AS below JOIN resources ON id = wanted ORDER BY id
     LIMIT :room
    """  # noqa: S608
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)))
# The newest other cgroups named as the same container of the same pod.
_LIVES = text(
    f"""
    SELECT {COLUMNS} FROM resources r
     WHERE parent_id = :parent AND kind = 'cgroup' AND id <> :id AND 2 = (
         SELECT count(DISTINCT own.name) FROM facts own JOIN facts f ON f.name = own.name AND f.value = own.value
          WHERE own.resource_id = :id AND f.resource_id = r.id AND own.name IN ('workload.pod', 'workload.container'))
     ORDER BY first_seen_at DESC, id DESC LIMIT 32
    """  # noqa: S608
)
_WITHIN = text(
    f"""
    WITH RECURSIVE down AS (
        SELECT unnest(:ids) AS wanted, 0 AS depth
        UNION
        SELECT r.id, down.depth + 1 FROM down JOIN resources r ON r.parent_id = down.wanted AND r.id <> down.wanted
         WHERE down.depth < 3 AND r.kind IN ('process', 'dns_server')
           AND r.last_seen_at >= to_timestamp(:seen_us / 1e6)
    )
    SELECT {COLUMNS}, count(*) OVER () AS found FROM resources
     WHERE id IN (SELECT wanted FROM down WHERE depth > 0) ORDER BY last_seen_at DESC, id LIMIT :limit
    """  # noqa: S608
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)))
_PROBES = text(
    f"SELECT {COLUMNS} FROM resources WHERE kind = 'probe' AND node_id = :node "  # noqa: S608
    "AND (parent_id = ANY(:servers) OR split_part(key, '@', 2) = ANY(:keys)) ORDER BY id LIMIT :room"
).bindparams(bindparam("servers", type_=ARRAY(BIGINT)))
# The depth limit stops a cycle.
_UNDER = text(
    """
    WITH RECURSIVE up AS (
        SELECT id AS wanted, parent_id AS at, 0 AS depth FROM resources WHERE id = ANY(:ids)
        UNION ALL
        SELECT up.wanted, r.parent_id, up.depth + 1 FROM up JOIN resources r ON r.id = up.at
         WHERE up.depth < 64 AND r.parent_id <> r.id
    )
    SELECT DISTINCT at, wanted FROM up WHERE at = ANY(:ancestors)
    """
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)), bindparam("ancestors", type_=ARRAY(BIGINT)))


def microseconds(at: datetime) -> int:
    """µs since the epoch."""
    delta = at - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def as_resource(row: Row[tuple[object, ...]]) -> ResourceRow:
    """A row of COLUMNS."""
    return ResourceRow(
        row.id, row.kind, row.key, row.name, row.parent_id, row.node_id or row.id,
        microseconds(row.first_seen_at), microseconds(row.last_seen_at),
    )  # fmt: skip


def by_id(session: Session, resource_ids: Sequence[int]) -> dict[int, ResourceRow]:
    if not resource_ids:
        return {}
    return {row.id: as_resource(row) for row in session.execute(_BY_ID, {"ids": list(resource_ids)})}


def seen_since(session: Session, kind: ResourceKind, from_us: int, limit: int) -> tuple[list[ResourceRow], int]:
    wanted = {"kind": kind, "from_us": from_us - SEEN_SLACK_US, "limit": limit}
    rows = session.execute(_SEEN_SINCE, wanted).all()
    return [as_resource(row) for row in rows], rows[0].found if rows else 0


def within(session: Session, cgroup_ids: Sequence[int], seen_us: int, limit: int) -> tuple[list[ResourceRow], int]:
    rows = session.execute(_WITHIN, {"ids": list(cgroup_ids), "seen_us": seen_us, "limit": limit}).all()
    return [as_resource(row) for row in rows], rows[0].found if rows else 0


def children(session: Session, resource_id: int, kind: ResourceKind | None) -> list[ResourceRow]:
    return _all(session, _CHILDREN, {"id": resource_id, "kind": kind})


def ancestors(session: Session, resource_id: int) -> list[ResourceRow]:
    return ancestors_of_all(session, [resource_id])[resource_id]


def ancestors_of_all(session: Session, resource_ids: Sequence[int]) -> dict[int, list[ResourceRow]]:
    """The ancestors of each resource, nearest first; every given id is a key."""
    found: dict[int, list[ResourceRow]] = {one: [] for one in resource_ids}
    for row in session.execute(_ANCESTORS, {"ids": list(found)}) if found else ():
        found[row.below].append(as_resource(row))
    return found


def owning_subjects(session: Session, resource_ids: Sequence[int]) -> dict[int, int]:
    if not resource_ids:
        return {}
    return {row.wanted: row.id for row in session.execute(_SUBJECTS, {"ids": sorted(set(resource_ids))})}


def subject_tree(session: Session, cgroup_id: int, from_us: int | None, to_us: int | None) -> SubjectTree | None:
    subject = by_id(session, [cgroup_id]).get(cgroup_id)
    if subject is None or subject.kind != "cgroup":
        return None
    node = by_id(session, [subject.node_id]).get(subject.node_id)
    if node is None:
        return None
    lives, below = _below(session, subject, from_us, to_us)
    servers = _of_kind(below, "dns_server")
    probes = _all(
        session,
        _PROBES,
        {"node": node.id, "servers": [server.id for server in servers], "keys": [server.key for server in servers]},
    )
    return SubjectTree(
        subject=subject,
        node=node,
        ancestors=_of_kind(ancestors(session, cgroup_id), "cgroup"),
        processes=_of_kind(below, "process"),
        dns_servers=servers,
        tcp_servers=_of_kind(below, "tcp_server"),
        tcp_upstreams=_of_kind(below, "tcp_upstream"),
        probes=tuple(probes),
        lives=lives,
    )


def processes(session: Session, cgroup: ResourceRow, from_us: int, to_us: int) -> tuple[ResourceRow, ...]:
    """Those of `subject_tree`: of the cgroup and of its container's other lives."""
    return _of_kind(_below(session, cgroup, from_us, to_us)[1], "process")


def _below(
    session: Session, cgroup: ResourceRow, from_us: int | None, to_us: int | None
) -> tuple[tuple[ResourceRow, ...], list[ResourceRow]]:
    """The other lives of a cgroup's container that were seen in a window, and all that is in it and in them."""
    lives = tuple(one for one in container_lives(session, cgroup) if _seen_in(one, from_us, to_us))
    ids = [cgroup.id, *(one.id for one in lives)]
    return lives, [one for one in _all(session, _DESCENDANTS, {"ids": ids}) if _seen_in(one, from_us, to_us)]


def container_lives(session: Session, cgroup: ResourceRow) -> list[ResourceRow]:
    """The other cgroups that a container had in its pod, before and after; empty for any other cgroup."""
    found = session.execute(_LIVES, {"id": cgroup.id, "parent": cgroup.parent_id})
    return [as_resource(row) for row in found]


def _all(session: Session, statement: TextClause, wanted: Mapping[str, object]) -> list[ResourceRow]:
    """The rows of a statement with a :room, as many as may be held. Raises TooMuch."""
    rows = session.execute(statement, {**wanted, "room": room(_ROW_BYTES)}).all()
    hold(len(rows) * _ROW_BYTES)
    return [as_resource(row) for row in rows]


def _of_kind(rows: Iterable[ResourceRow], kind: ResourceKind) -> tuple[ResourceRow, ...]:
    return tuple(row for row in rows if row.kind == kind)


def _seen_in(row: ResourceRow, from_us: int | None, to_us: int | None) -> bool:
    # first_seen_us is when a batch first named it, which can be later than the ticks in that batch.
    after = from_us is None or row.last_seen_us + SEEN_SLACK_US >= from_us
    return after and (to_us is None or row.first_seen_us - SEEN_SLACK_US < to_us)


def under(session: Session, resource_ids: Sequence[int], ancestor_ids: Sequence[int]) -> dict[int, set[int]]:
    """Which of the resources are below each of the ancestors; every ancestor is a key."""
    found: dict[int, set[int]] = {one: set() for one in ancestor_ids}
    wanted = {"ids": list(resource_ids), "ancestors": list(found)}
    for at, identity in session.execute(_UNDER, wanted).all() if resource_ids and found else ():
        found[at].add(identity)
    return found
