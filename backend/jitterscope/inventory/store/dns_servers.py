"""Where DNS servers are: the cgroups that contain them, their nodes, and their clients."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT, TEXT
from sqlalchemy.orm import Session

from jitterscope.inventory.store.tree import COLUMNS, SEEN_SLACK_US, as_resource
from jitterscope.inventory.types import ResourceKind, ResourceRow

# The nearest cgroup above each server; the depth limit stops a cycle.
_ALL_CGROUPS = """
    WITH RECURSIVE up AS (
        SELECT parent_id AS at, 0 AS depth FROM resources
         WHERE kind = 'dns_server' AND last_seen_at > to_timestamp(:after_us / 1e6){and_on_node}
        UNION
        SELECT r.parent_id, up.depth + 1 FROM up JOIN resources r ON r.id = up.at
         WHERE up.depth < 16 AND r.kind <> 'cgroup'
    )
    SELECT DISTINCT r.id FROM up JOIN resources r ON r.id = up.at AND r.kind = 'cgroup' ORDER BY r.id
"""
_CGROUPS = text(_ALL_CGROUPS.format(and_on_node=""))
_CGROUPS_ON_NODE = text(_ALL_CGROUPS.format(and_on_node=" AND node_id = :node"))
SEEN = "last_seen_at >= to_timestamp(:from_us / 1e6) AND first_seen_at < to_timestamp(:to_us / 1e6)"
_NODES = text(
    f"""
    SELECT {", ".join("n." + column for column in COLUMNS.split(", "))} FROM resources n JOIN (
        SELECT node_id, count(*) AS servers FROM resources WHERE kind = 'dns_server' AND {SEEN} GROUP BY node_id
    ) AS found ON found.node_id = n.id ORDER BY found.servers DESC, n.last_seen_at DESC, n.id LIMIT 500
    """  # noqa: S608
)
_ON_NODE = text(
    f"SELECT {COLUMNS} FROM resources WHERE node_id = :node AND kind = :kind AND {SEEN} "  # noqa: S608
    "ORDER BY last_seen_at DESC, id LIMIT :limit"
)

_ASKING = text(
    f"SELECT {COLUMNS} FROM resources r WHERE node_id = :node AND kind = 'cgroup' AND {SEEN} "  # noqa: S608
    "AND EXISTS (SELECT FROM facts f WHERE f.resource_id = r.id AND f.name = 'dns.resolv_conf') "
    "ORDER BY last_seen_at DESC, id LIMIT :limit"
)
_PATHS = text(
    f"SELECT {COLUMNS} FROM resources WHERE kind = 'dns_path' AND parent_id = ANY(:servers) "  # noqa: S608
    "AND last_seen_at >= to_timestamp(:from_us / 1e6) ORDER BY last_seen_at DESC, id LIMIT :limit"
).bindparams(bindparam("servers", type_=ARRAY(BIGINT)))
# A node's own address (loopback, link-local) means a server on the same node.
_AT = text(
    "SELECT id FROM resources WHERE kind = 'dns_server' AND split_part(key, '@', 1) = :key "
    "AND (NOT :local OR node_id = :node)"
)
_CLIENT_OF = text(
    "SELECT DISTINCT parent_id FROM resources WHERE kind = 'dns_path' AND split_part(key, '>', 1) = ANY(:clients) "
    "AND split_part(split_part(key, '>', 2), '@', 1) LIKE :port AND parent_id IS NOT NULL "
    "AND last_seen_at >= to_timestamp(:from_us / 1e6)"
).bindparams(bindparam("clients", type_=ARRAY(TEXT)))
_HOMES = text(
    """
    WITH RECURSIVE up AS (
        SELECT id AS server, parent_id AS at, 0 AS depth FROM resources WHERE id = ANY(:servers)
        UNION
        SELECT up.server, r.parent_id, up.depth + 1 FROM up JOIN resources r ON r.id = up.at
         WHERE up.depth < 16 AND r.kind <> 'cgroup'
    )
    SELECT up.server, r.id AS cgroup FROM up JOIN resources r ON r.id = up.at AND r.kind = 'cgroup'
    """
).bindparams(bindparam("servers", type_=ARRAY(BIGINT)))


def cgroups(session: Session, seen_after_us: int) -> list[int]:
    return list(session.execute(_CGROUPS, {"after_us": seen_after_us}).scalars())


def cgroups_on(session: Session, node_id: int, seen_after_us: int) -> list[int]:
    return list(session.execute(_CGROUPS_ON_NODE, {"node": node_id, "after_us": seen_after_us}).scalars())


def nodes(session: Session, from_us: int, to_us: int) -> list[ResourceRow]:
    return [as_resource(row) for row in session.execute(_NODES, around(from_us, to_us))]


def on_node(
    session: Session, node_id: int, kind: ResourceKind, from_us: int, to_us: int, limit: int
) -> list[ResourceRow]:
    wanted = {"node": node_id, "kind": kind, "limit": limit, **around(from_us, to_us)}
    return [as_resource(row) for row in session.execute(_ON_NODE, wanted)]


def asking(session: Session, node_id: int, from_us: int, to_us: int, limit: int) -> list[ResourceRow]:
    found = session.execute(_ASKING, {"node": node_id, "limit": limit, **around(from_us, to_us)})
    return sorted(map(as_resource, found), key=lambda row: row.id)


def around(from_us: int, to_us: int) -> dict[str, int]:
    """Bounds of SEEN. A resource is touched once a minute and may first be named by a batch with earlier ticks."""
    return {"from_us": from_us - SEEN_SLACK_US, "to_us": to_us + SEEN_SLACK_US}


def paths(session: Session, server_ids: Collection[int], from_us: int, limit: int) -> list[ResourceRow]:
    """Paths of clients to servers seen since a time, the latest."""
    wanted = {"servers": sorted(server_ids), "limit": limit, "from_us": from_us - SEEN_SLACK_US}
    return [as_resource(row) for row in session.execute(_PATHS, wanted)]


def at(session: Session, address: str, node_id: int, *, local: bool) -> set[int]:
    """Servers with an ADDRESS:PORT; `local`: only on the node."""
    return set(session.execute(_AT, {"key": address, "local": local, "node": node_id}).scalars())


def asked_by(session: Session, clients: Sequence[str], port: str, from_us: int) -> set[int]:
    """Servers at a port that one of the client addresses asked since a time."""
    wanted = {"clients": list(clients), "port": f"%:{port}", "from_us": from_us - SEEN_SLACK_US}
    return set(session.execute(_CLIENT_OF, wanted).scalars())


def homes(session: Session, server_ids: Collection[int]) -> dict[int, int]:
    """The nearest cgroup above each server."""
    return {row.server: row.cgroup for row in session.execute(_HOMES, {"servers": sorted(server_ids)})}
