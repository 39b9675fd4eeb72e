"""Objectives in the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, bindparam, delete, exists, select, text, tuple_
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT, TEXT, insert
from sqlalchemy.orm import Session

from jitterscope.objectives.models import ObjectiveRow

# From each resource up to its node, with the newest facts that name a workload.
_CHAINS = text(
    """
    WITH RECURSIVE up AS (
        SELECT r.id AS wanted, r.id, r.kind, r.key, r.node_id, r.parent_id, 0 AS depth
          FROM resources r WHERE r.id = ANY(:ids)
        UNION ALL
        SELECT up.wanted, r.id, r.kind, r.key, r.node_id, r.parent_id, up.depth + 1
          FROM up JOIN resources r ON r.id = up.parent_id WHERE up.depth < 64 AND r.id <> up.id
    )
    SELECT up.wanted, up.id, up.kind, up.key, up.node_id, up.depth, named.name, named.value
      FROM up LEFT JOIN LATERAL (
          SELECT DISTINCT ON (f.name) f.name, f.value FROM facts f
           WHERE up.kind = 'cgroup' AND f.resource_id = up.id AND f.name = ANY(:names)
           ORDER BY f.name, f.since_us DESC
      ) AS named ON true
     WHERE up.kind IN ('cgroup', 'dns_server', 'tcp_server')
     ORDER BY up.wanted, up.depth
    """
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)), bindparam("names", type_=ARRAY(TEXT)))


def own(session: Session, workload: str, port: int) -> ObjectiveRow | None:
    found = session.scalar(
        select(ObjectiveRow).where(ObjectiveRow.workload == workload, ObjectiveRow.port == port).with_for_update()
    )
    if found is not None:
        session.expunge(found)
    return found


def chains(session: Session, resource_ids: Sequence[int], names: Sequence[str]) -> Sequence[Row[Any]]:
    """Servers and cgroups from each of the resources up to its node, cgroups with their newest facts of these names."""
    return session.execute(_CHAINS, {"ids": list(resource_ids), "names": list(names)}).all()


def of(session: Session, keys: Sequence[tuple[str, int]]) -> dict[tuple[str, int], ObjectiveRow]:
    """What is set, by workload and port."""
    found = session.scalars(select(ObjectiveRow).where(tuple_(ObjectiveRow.workload, ObjectiveRow.port).in_(keys)))
    return {(row.workload, row.port): row for row in found}


def put(
    session: Session, organization_id: int, workload: str, port: int, quantile: float, limit_us: int, by: str
) -> None:
    """Set an objective, in place of the one before."""
    values = {"quantile": quantile, "limit_us": limit_us, "set_by": by}
    statement = insert(ObjectiveRow).values(organization_id=organization_id, workload=workload, port=port, **values)
    changed = {**values, "set_at": statement.excluded.set_at}
    session.execute(
        statement.on_conflict_do_update(index_elements=["organization_id", "workload", "port"], set_=changed)
    )


def remove(session: Session, objective_id: int) -> None:
    session.execute(delete(ObjectiveRow).where(ObjectiveRow.id == objective_id))


def any_below(session: Session, limit_us: int) -> bool:
    """Whether an objective has a lower limit."""
    return bool(session.scalar(select(exists().where(ObjectiveRow.limit_us < limit_us))))
