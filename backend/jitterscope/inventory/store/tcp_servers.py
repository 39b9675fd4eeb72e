"""TCP servers and the upstreams that cgroups connect to, in the database."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT, TEXT
from sqlalchemy.orm import Session

from jitterscope.inventory.store import dns_servers, tree
from jitterscope.inventory.types import ResourceRow

_BY_KEY = text(
    f"SELECT {tree.COLUMNS} FROM resources WHERE node_id = :node AND kind = 'tcp_server' "  # noqa: S608
    f"AND key = ANY(:keys) AND {dns_servers.SEEN} ORDER BY last_seen_at DESC, id LIMIT :limit"
).bindparams(bindparam("keys", type_=ARRAY(TEXT)))
# A pod's server listens on any address in its own network namespace, whose addresses are known.
_KEYS_AT = text(
    """
    SELECT c.key FROM resources c
     WHERE c.node_id = :node AND c.kind = 'cgroup' AND EXISTS (
           SELECT FROM facts f WHERE f.resource_id = c.id AND f.name = 'net.addresses'
              AND f.value LIKE '%"' || :address || '"%')
    """
)
_OF_CGROUPS = text(
    f"SELECT {tree.COLUMNS} FROM resources WHERE kind = 'tcp_upstream' AND parent_id = ANY(:ids) "  # noqa: S608
    f"AND {dns_servers.SEEN} ORDER BY last_seen_at DESC, id LIMIT :limit"
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)))
_UPSTREAM = text(
    f"SELECT {tree.COLUMNS} FROM resources WHERE node_id = :node AND kind = 'tcp_upstream' "  # noqa: S608
    "AND starts_with(key, CAST(:path AS text)) AND split_part(key, '>', 2) = :upstream"
)


# Their keys begin with the path of their cgroup.
_IN_CGROUP = text(
    f"""
    SELECT {tree.COLUMNS} FROM resources WHERE node_id = :node AND kind = 'tcp_server' AND {dns_servers.SEEN}
       AND (starts_with(key, CAST(:path AS text) || ':') OR starts_with(key, rtrim(:path, '/') || '/')) ORDER BY id
    """  # noqa: S608
)


def with_keys(
    session: Session, node_id: int, keys: Collection[str], limit: int, from_us: int, to_us: int
) -> list[ResourceRow]:
    """Servers of a node seen in a window, by key: the latest."""
    wanted = {"node": node_id, "keys": sorted(keys), "limit": limit, **dns_servers.around(from_us, to_us)}
    return [tree.as_resource(row) for row in session.execute(_BY_KEY, wanted)]


def paths_at(session: Session, node_id: int, address: str) -> list[str]:
    """Paths of the node's cgroups that have an IP address."""
    return list(session.execute(_KEYS_AT, {"node": node_id, "address": address}).scalars())


def upstreams_of(
    session: Session, cgroup_ids: Collection[int], from_us: int, to_us: int, limit: int
) -> list[ResourceRow]:
    """Upstreams of cgroups seen in a window: the latest."""
    wanted = {"ids": sorted(cgroup_ids), "limit": limit, **dns_servers.around(from_us, to_us)}
    return [tree.as_resource(row) for row in session.execute(_OF_CGROUPS, wanted)]


def upstreams_under(session: Session, node_id: int, path: str, upstream: str) -> list[ResourceRow]:
    """The upstreams of cgroups under a path that stand for an ADDRESS:PORT."""
    wanted = {"node": node_id, "path": path, "upstream": upstream}
    return [tree.as_resource(row) for row in session.execute(_UPSTREAM, wanted)]


def in_cgroup(session: Session, node_id: int, path: str, from_us: int, to_us: int) -> list[ResourceRow]:
    """Servers in a cgroup and those below it, seen in a window."""
    wanted = {"node": node_id, "path": path, **dns_servers.around(from_us, to_us)}
    return [tree.as_resource(row) for row in session.execute(_IN_CGROUP, wanted)]
