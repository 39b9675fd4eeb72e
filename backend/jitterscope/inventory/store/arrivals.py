"""What batches add to the resources in the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT, TEXT
from sqlalchemy.orm import Session

_UPSERT = text(
    """
    INSERT INTO resources (organization_id, kind, key, name, node_id, first_seen_at, last_seen_at)
    SELECT :organization, kind, key, CASE kind WHEN 'tcp_upstream' THEN split_part(key, '>', 2) ELSE key END AS name,
           :node, :seen, :seen
      FROM unnest(:kinds, :keys) AS wanted (kind, key) ORDER BY kind, key
    ON CONFLICT (organization_id, node_id, kind, key) DO UPDATE SET
        first_seen_at = least(resources.first_seen_at, excluded.first_seen_at),
        last_seen_at = greatest(resources.last_seen_at, excluded.last_seen_at)
    RETURNING id, kind, key, parent_id, xmax = 0 AS created
    """
).bindparams(bindparam("kinds", type_=ARRAY(TEXT)), bindparam("keys", type_=ARRAY(TEXT)))
_ADOPT = text(
    "UPDATE resources SET parent_id = wanted.parent FROM unnest(:ids, :parents) AS wanted (id, parent) "
    "WHERE resources.id = wanted.id AND parent_id IS DISTINCT FROM wanted.parent"
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)), bindparam("parents", type_=ARRAY(BIGINT)))
_TOUCH = text(
    "UPDATE resources SET last_seen_at = greatest(last_seen_at, :seen), first_seen_at = least(first_seen_at, :seen) "
    "FROM (SELECT id FROM resources WHERE id = ANY(:ids) ORDER BY id FOR NO KEY UPDATE) AS seen "
    "WHERE resources.id = seen.id RETURNING resources.id"
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)))
_THROTTLED = text(
    "UPDATE resources SET throttled_at = greatest(throttled_at, 'epoch'::timestamptz + seen.at * interval '1 us') "
    "FROM unnest(:ids, :times) AS seen (id, at) WHERE resources.id = seen.id"
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)), bindparam("times", type_=ARRAY(BIGINT)))
_CONTAINERS = text(
    "SELECT c.name, c.id, n.name AS node FROM resources c JOIN resources n ON n.id = c.node_id "
    "WHERE c.kind = 'cgroup' AND c.name = ANY(:names) ORDER BY c.last_seen_at DESC, c.id"
).bindparams(bindparam("names", type_=ARRAY(TEXT)))
_TARGETS = text(
    """
    INSERT INTO resources (organization_id, kind, key, name)
    SELECT :organization, 'external', key, name FROM unnest(:keys, :names) AS wanted (key, name) ORDER BY key
    ON CONFLICT (organization_id, node_id, kind, key) DO UPDATE SET last_seen_at = now()
    RETURNING id, key, xmax = 0 AS created
    """
).bindparams(bindparam("keys", type_=ARRAY(TEXT)), bindparam("names", type_=ARRAY(TEXT)))


def mark_throttled(session: Session, at_us: Mapping[int, int]) -> None:
    """Record when resources (by id) were throttled, in µs."""
    if at_us:
        session.execute(_THROTTLED, {"ids": sorted(at_us), "times": [at_us[one] for one in sorted(at_us)]})


def touch(session: Session, resource_ids: Sequence[int], seen_at: datetime) -> set[int]:
    """Note when resources were seen; those of them that still exist."""
    return set(session.execute(_TOUCH, {"ids": list(resource_ids), "seen": seen_at}).scalars())


def upsert(
    session: Session, organization_id: int, node_id: int, kinds: Sequence[str], keys: Sequence[str], seen_at: datetime
) -> Sequence[Row[Any]]:
    """Create resources of a node, or note that they were seen: `id`, `kind`, `key`, `parent_id`, and `created`."""
    return session.execute(
        _UPSERT,
        {
            "organization": organization_id, "node": node_id, "seen": seen_at, "kinds": list(kinds),
            "keys": list(keys),
        },
    ).all()  # fmt: skip


def adopt(session: Session, parents: Mapping[int, int]) -> None:
    """Set the parents of resources."""
    session.execute(_ADOPT, {"ids": list(parents), "parents": list(parents.values())})


def cgroups_named(session: Session, names: Collection[str]) -> Sequence[Row[Any]]:
    """Cgroups with these display names, the latest seen first: `name`, `id`, and the name of the `node`."""
    return session.execute(_CONTAINERS, {"names": sorted(names)}).all()


def upsert_targets(session: Session, organization_id: int, names: Mapping[str, str]) -> Sequence[Row[Any]]:
    """Create targets of other systems by key, or note that they were seen: `id`, `key`, and `created`."""
    return session.execute(
        _TARGETS, {"organization": organization_id, "keys": list(names), "names": list(names.values())}
    ).all()
