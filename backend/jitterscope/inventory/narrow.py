"""The part of a subject's tree where signs of trouble are read: see diagnosis/core/signs.py."""

from __future__ import annotations

from sqlalchemy.orm import Session

from jitterscope.inventory import neighbours
from jitterscope.inventory.store import dns_servers, tcp_servers
from jitterscope.inventory.store.tree import ancestors, processes, under
from jitterscope.inventory.types import ResourceRow, SubjectTree

_MAX_SERVERS = 72


def tree(session: Session, subject: ResourceRow, from_us: int, to_us: int) -> SubjectTree | None:
    """A cgroup with its ancestors, processes, and servers, and the node's other DNS servers; a node alone.

    None without a node.
    """
    if subject.kind == "node":
        return SubjectTree(subject=subject, node=subject)
    above = ancestors(session, subject.id)
    node = next((row for row in above if row.id == subject.node_id), None)
    if node is None:
        return None
    servers = dns_servers.on_node(session, node.id, "dns_server", from_us, to_us, _MAX_SERVERS)
    own_ids = under(session, [row.id for row in servers], subject.id) if servers else set()
    own = tuple(row for row in servers if row.id in own_ids)
    others = [row for row in servers if row.id not in own_ids]
    return SubjectTree(
        subject=subject,
        node=node,
        ancestors=tuple(row for row in above if row.kind == "cgroup"),
        processes=processes(session, subject, from_us, to_us),
        dns_servers=own,
        tcp_servers=tuple(tcp_servers.in_cgroup(session, node.id, subject.key, from_us, to_us)),
        neighbours=tuple(neighbours.nearest(session, own, others, to_us)) if own else (),
    )
