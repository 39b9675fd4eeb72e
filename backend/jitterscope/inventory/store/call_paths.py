"""Measured paths of calls on all nodes, and the servers at their ends."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT, TEXT
from sqlalchemy.orm import Session

from jitterscope.inventory.store import dns_servers, tree
from jitterscope.inventory.types import ResourceKind, ResourceRow

# Servers in the containers of one answer.
MAX_SERVERS = 1000
_SEEN = text(
    f"SELECT {tree.COLUMNS}, count(*) OVER () AS found FROM resources WHERE kind = :kind AND {dns_servers.SEEN} "  # noqa: S608
    "ORDER BY last_seen_at DESC, id LIMIT :limit"
)
_TCP_SERVERS = text(
    f"SELECT {tree.COLUMNS} FROM resources WHERE kind = 'tcp_server' AND {dns_servers.SEEN} "  # noqa: S608
    "AND (node_id, key) IN (SELECT * FROM unnest(:nodes, :keys))"
).bindparams(bindparam("nodes", type_=ARRAY(BIGINT)), bindparam("keys", type_=ARRAY(TEXT)))
# A TCP server's parent is its cgroup; a DNS server's is its process, or its cgroup.
_WITHIN = text(
    f"""
    SELECT {", ".join("s." + column for column in tree.COLUMNS.split(", "))},
           CASE p.kind WHEN 'process' THEN p.parent_id ELSE p.id END AS cgroup_id
      FROM resources s JOIN resources p ON p.id = s.parent_id
     WHERE s.kind IN ('dns_server', 'tcp_server') AND s.last_seen_at >= to_timestamp(:from_us / 1e6)
       AND s.first_seen_at < to_timestamp(:to_us / 1e6)
       AND (p.id = ANY(:ids) OR (p.kind = 'process' AND p.parent_id = ANY(:ids)))
     ORDER BY s.last_seen_at DESC, s.id LIMIT :limit
    """  # noqa: S608
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)))


def seen(session: Session, kind: ResourceKind, from_us: int, to_us: int, limit: int) -> tuple[list[ResourceRow], int]:
    wanted = {"kind": kind, "limit": limit, **dns_servers.around(from_us, to_us)}
    rows = session.execute(_SEEN, wanted).all()
    return [tree.as_resource(row) for row in rows], rows[0].found if rows else 0


def tcp_servers(
    session: Session, keys: Collection[tuple[int, str]], from_us: int, to_us: int
) -> dict[tuple[int, str], ResourceRow]:
    if not keys:
        return {}
    nodes, texts = zip(*sorted(keys), strict=True)
    wanted = {"nodes": list(nodes), "keys": list(texts), **dns_servers.around(from_us, to_us)}
    rows = (tree.as_resource(row) for row in session.execute(_TCP_SERVERS, wanted))
    return {(row.node_id, row.key): row for row in rows}


def servers_within(
    session: Session, cgroup_ids: Sequence[int], from_us: int, to_us: int
) -> list[tuple[int, ResourceRow]]:
    if not cgroup_ids:
        return []
    wanted = {"ids": sorted(cgroup_ids), "limit": MAX_SERVERS, **dns_servers.around(from_us, to_us)}
    return [(row.cgroup_id, tree.as_resource(row)) for row in session.execute(_WITHIN, wanted)]
