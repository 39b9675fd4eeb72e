"""The part of a subject's tree where signs of trouble are read: see diagnosis/core/signs.py."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT, TEXT
from sqlalchemy.orm import Session

from jitterscope.inventory import dns_servers, neighbours
from jitterscope.inventory.tree import COLUMNS, ancestors, as_resource
from jitterscope.inventory.types import ResourceRow, SubjectTree

_MAX_SERVERS = 72
# The depth limit stops a cycle.
_UNDER = text(
    """
    WITH RECURSIVE up AS (
        SELECT id AS wanted, parent_id AS at, 0 AS depth FROM resources WHERE id = ANY(:ids)
        UNION ALL
        SELECT up.wanted, r.parent_id, up.depth + 1 FROM up JOIN resources r ON r.id = up.at
         WHERE up.depth < 64 AND up.at <> :subject AND r.parent_id <> r.id
    )
    SELECT DISTINCT wanted FROM up WHERE at = :subject
    """
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)))
# Their keys begin with the path of their cgroup.
_TCP_SERVERS = text(
    f"""
    SELECT {COLUMNS} FROM resources WHERE node_id = :node AND kind = 'tcp_server' AND {dns_servers.SEEN}
       AND (starts_with(key, CAST(:path AS text) || ':') OR starts_with(key, rtrim(:path, '/') || '/')) ORDER BY id
    """  # noqa: S608
)
_KINDS = text(
    """
    SELECT DISTINCT kind FROM events
     WHERE resource_id IN (SELECT id FROM resources WHERE id = :node OR node_id = :node) AND kind = ANY(:kinds)
       AND start_us > :earliest AND start_us < :to_us
       AND (start_us >= :from_us OR start_us + duration_us > :from_us)
    """
).bindparams(bindparam("kinds", type_=ARRAY(TEXT)))
# No event that extends into a window began earlier than this.
_LONGEST_US = 3_600_000_000


def tree(session: Session, subject: ResourceRow, from_us: int, to_us: int) -> SubjectTree | None:
    """A cgroup with its ancestors, its servers, and the node's other DNS servers; a node alone; None without a node."""
    if subject.kind == "node":
        return SubjectTree(subject=subject, node=subject)
    above = ancestors(session, subject.id)
    node = next((row for row in above if row.id == subject.node_id), None)
    if node is None:
        return None
    servers = dns_servers.on_node(session, node.id, "dns_server", from_us, to_us, _MAX_SERVERS)
    found = session.execute(_UNDER, {"ids": [row.id for row in servers], "subject": subject.id}) if servers else None
    own_ids = set() if found is None else set(found.scalars())
    own = tuple(row for row in servers if row.id in own_ids)
    others = [row for row in servers if row.id not in own_ids]
    wanted = {"node": node.id, "path": subject.key, **dns_servers.around(from_us, to_us)}
    return SubjectTree(
        subject=subject,
        node=node,
        ancestors=tuple(row for row in above if row.kind == "cgroup"),
        dns_servers=own,
        tcp_servers=tuple(map(as_resource, session.execute(_TCP_SERVERS, wanted))),
        neighbours=tuple(neighbours.nearest(session, own, others, to_us)) if own else (),
    )


def event_kinds(session: Session, node_id: int, kinds: Sequence[str], from_us: int, to_us: int) -> list[str]:
    """Which of these kinds of events happened in a window, on a node or on anything in it."""
    earliest = from_us - _LONGEST_US
    wanted = {"node": node_id, "kinds": list(kinds), "earliest": earliest, "from_us": from_us, "to_us": to_us}
    return list(session.execute(_KINDS, wanted).scalars())
