"""Cgroups that were seen in a window, for a list of containers."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.orm import Session

from jitterscope.inventory.store.tree import COLUMNS, SEEN_SLACK_US, as_resource
from jitterscope.inventory.types import ResourceRow

# A container has a name, or is an unnamed leaf. Pods and slices contain other cgroups.
_FIND = text(
    f"""
    SELECT {", ".join("s." + column for column in COLUMNS.split(", "))}, count(*) OVER () AS found
      FROM resources s
      LEFT JOIN resources n ON n.id = s.node_id
     WHERE s.kind = 'cgroup'
       AND s.last_seen_at >= to_timestamp(:seen_us / 1e6)
       AND (CAST(:node AS bigint) IS NULL OR s.node_id = :node)
       AND (CAST(:text AS text) = '' OR strpos(lower(concat_ws(' ', s.name, s.key, n.name)), lower(:text)) > 0)
       AND (:every
            OR EXISTS (SELECT FROM facts f
                        WHERE f.resource_id = s.id AND f.name = 'workload.container' AND f.value <> '')
            OR NOT EXISTS (SELECT FROM resources c WHERE c.parent_id = s.id AND c.kind = 'cgroup' AND c.id <> s.id))
     ORDER BY s.throttled_at DESC NULLS LAST, s.last_seen_at DESC, s.id LIMIT :limit
    """  # noqa: S608
)


def find(
    session: Session, containing: str, node_id: int | None, from_us: int, gone_us: int | None, every: bool, limit: int
) -> tuple[list[ResourceRow], int]:  # fmt: skip
    """Containers seen since a time whose name, path, or node contains a text, and how many there are in total.

    The total is not limited by `limit`. The most recently throttled come first. `gone_us`: only those also seen after
    that time; `every`: includes pods and slices.
    """
    seen_us = from_us - SEEN_SLACK_US if gone_us is None else max(from_us - SEEN_SLACK_US, gone_us)
    wanted = {
        "text": containing, "node": node_id, "seen_us": seen_us, "every": every, "limit": limit,
    }  # fmt: skip
    rows = session.execute(_FIND, wanted).all()
    return [as_resource(row) for row in rows], rows[0].found if rows else 0
