"""Which resources are the product's own: only what its chart, its Compose file, or its unit says, never a guess."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT
from sqlalchemy.orm import Session

from jitterscope.inventory.store.tree import UPWARDS

# In the newest value: a label can be removed.
_OWN = text(
    f"""
    {UPWARDS}
    SELECT DISTINCT up.wanted
      FROM up JOIN LATERAL (
          SELECT f.value FROM facts f WHERE f.resource_id = up.id AND f.name = 'workload.part_of'
           ORDER BY f.since_us DESC LIMIT 1
      ) AS said ON true
     WHERE up.kind = 'cgroup' AND said.value = 'jitterscope'
    """  # noqa: S608
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)))


def among(session: Session, resource_ids: Collection[int]) -> set[int]:
    """Those of the resources that are a cgroup of the product, or in one."""
    if not resource_ids:
        return set()
    return set(session.execute(_OWN, {"ids": sorted(set(resource_ids))}).scalars())
