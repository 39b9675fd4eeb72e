"""Deletion of long-gone resources in the database."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT
from sqlalchemy.orm import Session

# Kept resources keep their parents and their node, however long ago those were seen.
_DROP = text(
    """
    WITH RECURSIVE candidates AS (
        SELECT id FROM resources WHERE id <> ALL(:referred) AND (last_seen_at < :long_ago
            OR (last_seen_at < :ago AND last_seen_at - first_seen_at < :short))
    ), kept AS (
        SELECT id, parent_id, node_id FROM resources WHERE id NOT IN (SELECT id FROM candidates)
        UNION
        SELECT r.id, r.parent_id, r.node_id FROM kept k JOIN resources r ON r.id IN (k.parent_id, k.node_id)
    )
    DELETE FROM resources WHERE id IN (
        SELECT id FROM candidates WHERE id NOT IN (SELECT id FROM kept) ORDER BY id LIMIT :at_once
    ) AND last_seen_at < :ago RETURNING id
    """
).bindparams(bindparam("referred", type_=ARRAY(BIGINT)))


def drop(
    session: Session, referred: Collection[int], ago: datetime, long_ago: datetime, short: timedelta, limit: int
) -> list[int]:
    """Delete resources not seen since `long_ago`, or since `ago` if they lived shorter than `short`.

    Those that are referred to stay. Returns the ids of the deleted ones.
    """
    wanted = {"referred": sorted(referred), "ago": ago, "long_ago": long_ago, "short": short, "at_once": limit}
    return list(session.execute(_DROP, wanted).scalars())
