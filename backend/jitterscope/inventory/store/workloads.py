"""Cgroups of Kubernetes workloads in the database."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Row, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT, TEXT
from sqlalchemy.orm import Session

from jitterscope.inventory.store import tree
from jitterscope.inventory.store.tree import UPWARDS
from jitterscope.inventory.types import ResourceRow

# The newest cgroups with the same container name; their facts show which belong to the same workload.
_NEWER = text(
    f"""
    SELECT {tree.COLUMNS} FROM resources r
     WHERE kind = 'cgroup' AND id <> :id AND first_seen_at > to_timestamp(:after_us / 1e6)
       AND EXISTS (SELECT FROM facts f WHERE f.resource_id = r.id AND f.name = 'workload.container' AND f.value = :name)
     ORDER BY last_seen_at DESC, id DESC LIMIT 100
    """  # noqa: S608
)
# The same without a time limit, last seen first.
_SEEN = text(
    f"""
    SELECT {tree.COLUMNS}, count(*) OVER () AS found FROM resources r
     WHERE kind = 'cgroup' AND id <> :id AND last_seen_at >= to_timestamp(:seen_us / 1e6)
       AND EXISTS (SELECT FROM facts f WHERE f.resource_id = r.id AND f.name = 'workload.container' AND f.value = :name)
     ORDER BY last_seen_at DESC, id DESC LIMIT :limit
    """  # noqa: S608
)


# With the newest facts that name a workload.
_NAMED = text(
    f"""
    {UPWARDS}
    SELECT up.wanted, named.name, named.value
      FROM up JOIN LATERAL (
          SELECT DISTINCT ON (f.name) f.name, f.value FROM facts f
           WHERE f.resource_id = up.id AND f.name = ANY(:names) ORDER BY f.name, f.since_us DESC
      ) AS named ON true
     WHERE up.kind = 'cgroup' AND named.value <> ''
     ORDER BY up.wanted, up.depth
    """  # noqa: S608
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)), bindparam("names", type_=ARRAY(TEXT)))


def newer(session: Session, cgroup_id: int, container: str, after_us: int) -> list[ResourceRow]:
    """Other cgroups of containers with a name, first seen after a time: the newest."""
    wanted = {"id": cgroup_id, "after_us": after_us, "name": container}
    return [tree.as_resource(row) for row in session.execute(_NEWER, wanted)]


def seen(session: Session, cgroup_id: int, container: str, seen_us: int, limit: int) -> tuple[list[ResourceRow], int]:
    """Other cgroups of containers with a name, seen since a time: the latest, and how many there are."""
    wanted = {"id": cgroup_id, "seen_us": seen_us, "name": container, "limit": limit}
    rows = session.execute(_SEEN, wanted).all()
    return [tree.as_resource(row) for row in rows], rows[0].found if rows else 0


def names(session: Session, resource_ids: Collection[int], names: Sequence[str]) -> Sequence[Row[int, str, str]]:
    """(resource, fact, newest value) of the cgroups around each resource, the nearest first."""
    return session.execute(_NAMED, {"ids": sorted(set(resource_ids)), "names": list(names)}).all()
