"""What a diagnosis of a node looks at: its servers, and the processes and cgroups involved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Row, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT, TEXT
from sqlalchemy.orm import Session

from jitterscope.inventory.store import dns_servers
from jitterscope.inventory.store.tree import COLUMNS, SEEN_SLACK_US, ancestors, as_resource, by_id
from jitterscope.inventory.types import ResourceRow, SubjectTree

# Limits on what one diagnosis of a node reads, whatever runs there.
MAX_SERVERS, MAX_PROCESSES, MAX_CGROUPS = 8, 48, 32
# Events of a cgroup or a process that reveal something about the node's kernel.
TELLING = ("fs.lookup_failures", "process.mass_exit", "bpf.load", "memory.oom_kill", "pod.start")

_SEEN = "last_seen_at >= to_timestamp(:from_us / 1e6) AND first_seen_at < to_timestamp(:to_us / 1e6)"
_PROCESSES = text(
    f"SELECT {COLUMNS} FROM resources r WHERE node_id = :node AND kind = 'process' AND {_SEEN} "  # noqa: S608
    "ORDER BY last_seen_at DESC, id LIMIT :limit"
)
_CGROUPS = text(
    f"""
    SELECT {", ".join("r." + column for column in COLUMNS.split(", "))} FROM resources r LEFT JOIN (
        SELECT e.resource_id, count(*) AS events FROM events e JOIN resources o ON o.id = e.resource_id
         WHERE o.node_id = :node AND o.kind = 'cgroup' AND e.kind = ANY(:telling)
           AND e.start_us >= :from_us AND e.start_us < :to_us GROUP BY e.resource_id
    ) AS told ON told.resource_id = r.id
     WHERE r.kind = 'cgroup' AND (told.events IS NOT NULL OR r.id = ANY(:serving))
     ORDER BY told.events DESC NULLS LAST, r.id LIMIT :limit
    """  # noqa: S608
).bindparams(bindparam("telling", type_=ARRAY(TEXT)), bindparam("serving", type_=ARRAY(BIGINT)))
_NODES = text(
    "SELECT id FROM resources WHERE kind = 'node' AND last_seen_at > to_timestamp(:after_us / 1e6) ORDER BY id"
)
_NAMESAKES = text(
    """
    SELECT id, name, key FROM (
        SELECT id, name, key, count(*) OVER (PARTITION BY name) AS namesakes
          FROM resources WHERE kind = 'node' AND node_id = 0
    ) AS nodes WHERE namesakes > 1 ORDER BY name
    """
)


def tree(session: Session, node_id: int, from_us: int, to_us: int) -> SubjectTree | None:
    """A node as the subject, with what was seen there in a window. None if there is no such node."""
    node = by_id(session, [node_id]).get(node_id)
    if node is None or node.kind != "node":
        return None
    servers = dns_servers.on_node(session, node_id, "dns_server", from_us, to_us, MAX_SERVERS)
    serving = sorted(found for row in servers if (found := _cgroup_of(session, row)) is not None)
    processes = session.execute(
        _PROCESSES,
        {"node": node_id, "limit": MAX_PROCESSES, "from_us": from_us - SEEN_SLACK_US, "to_us": to_us + SEEN_SLACK_US},
    )  # fmt: skip
    cgroups = session.execute(
        _CGROUPS,
        {"node": node_id, "telling": list(TELLING), "serving": serving, "limit": MAX_CGROUPS, "from_us": from_us,
         "to_us": to_us},
    )  # fmt: skip
    return SubjectTree(
        subject=node,
        node=node,
        processes=_by_id(map(as_resource, processes)),
        dns_servers=_by_id(servers),
        tcp_servers=_by_id(dns_servers.on_node(session, node_id, "tcp_server", from_us, to_us, MAX_SERVERS)),
        cgroups=_by_id(map(as_resource, cgroups)),
    )


def seen(session: Session, after_us: int) -> list[int]:
    """Nodes that sent data after a time, by id."""
    return list(session.execute(_NODES, {"after_us": after_us}).scalars())


def _cgroup_of(session: Session, server: ResourceRow) -> int | None:
    return next((one.id for one in ancestors(session, server.id) if one.kind == "cgroup"), None)


def _by_id(rows: Iterable[ResourceRow]) -> tuple[ResourceRow, ...]:
    return tuple(sorted(rows, key=lambda row: row.id))


def with_key(session: Session, key: str) -> int | None:
    """The node whose collector gives it this key."""
    query = text("SELECT id FROM resources WHERE node_id = 0 AND kind = 'node' AND key = :key")
    found: int | None = session.scalar(query, {"key": key})
    return found


def namesakes(session: Session) -> Sequence[Row[Any]]:
    """Nodes whose name another node has too, by name: `id`, `name`, and `key`."""
    return session.execute(_NAMESAKES).all()
