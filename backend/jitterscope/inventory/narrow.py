"""The part of a subject's tree where signs of trouble are read: see diagnosis/core/signs.py."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from jitterscope.inventory import neighbours
from jitterscope.inventory.store import dns_servers, tcp_servers
from jitterscope.inventory.store.tree import ancestors_of_all, processes, under
from jitterscope.inventory.types import ResourceRow, SubjectTree

_MAX_SERVERS = 72


def trees(session: Session, subjects: Sequence[ResourceRow], from_us: int, to_us: int) -> dict[int, SubjectTree]:
    """A cgroup with its ancestors, processes, and servers, and the node's other DNS servers; a node alone.

    By subject; absent without a node.
    """
    found = {one.id: SubjectTree(subject=one, node=one) for one in subjects if one.kind == "node"}
    above = ancestors_of_all(session, [one.id for one in subjects if one.id not in found])
    nodes = {row.id: row for rows in above.values() for row in rows if row.kind == "node"}
    servers = {
        one: dns_servers.on_node(session, one, "dns_server", from_us, to_us, _MAX_SERVERS) for one in sorted(nodes)
    }
    below = under(session, sorted({row.id for rows in servers.values() for row in rows}), sorted(above))
    for subject in subjects:
        node = nodes.get(subject.node_id)
        if subject.id in found or node is None:
            continue
        own = tuple(row for row in servers[node.id] if row.id in below[subject.id])
        others = [row for row in servers[node.id] if row.id not in below[subject.id]]
        found[subject.id] = SubjectTree(
            subject=subject,
            node=node,
            ancestors=tuple(row for row in above[subject.id] if row.kind == "cgroup"),
            processes=processes(session, subject, from_us, to_us),
            dns_servers=own,
            tcp_servers=tuple(tcp_servers.in_cgroup(session, node.id, subject.key, from_us, to_us)),
            neighbours=tuple(neighbours.nearest(session, own, others, to_us)) if own else (),
        )
    return found
