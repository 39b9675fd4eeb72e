"""Which TCP servers of the node are behind the addresses that a cgroup connects to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

from jitterscope.inventory.store import facts, tcp_servers, tree
from jitterscope.inventory.types import ResourceRow, SubjectTree

# Limits on what a diagnosis reads about other servers.
MAX_UPSTREAMS, MAX_ASKED = 16, 8
_MOST = 400
_SERVER = "upstream.server"


def of_cgroups(
    session: Session, cgroup_ids: Sequence[int], from_us: int, to_us: int
) -> list[tuple[ResourceRow, ResourceRow | None]]:
    rows = tcp_servers.upstreams_of(session, cgroup_ids, from_us, to_us, _MOST) if cgroup_ids else []
    found: list[tuple[ResourceRow, ResourceRow | None]] = []
    by_node: dict[int, list[ResourceRow]] = {}
    for row in rows:
        by_node.setdefault(row.node_id, []).append(row)
    for node_id, upstreams in by_node.items():
        keys = _keys(session, node_id, upstreams, to_us)
        servers = {one.key: one for one in _named(session, node_id, set().union(*keys.values()), _MOST, from_us, to_us)}
        for row in upstreams:
            behind = [servers[key] for key in sorted(keys[row.id]) if key in servers]
            found.append((row, behind[0] if behind else None))
    return found


def added(session: Session, found: SubjectTree, from_us: int, to_us: int) -> SubjectTree:
    """The tree with the node's servers that are its upstreams."""
    own = {row.id for row in found.tcp_servers}
    called = _servers(session, found.node.id, found.tcp_upstreams[:MAX_UPSTREAMS], from_us, to_us)
    return replace(
        found, called_servers=tuple(sorted((row for row in called if row.id not in own), key=lambda row: row.id))
    )


def cgroups_at(session: Session, cgroup_id: int, upstream: str, from_us: int, to_us: int) -> set[int]:
    """Cgroups of the servers that answer when a cgroup of their node calls `upstream`, without itself."""
    asker = tree.by_id(session, [cgroup_id]).get(cgroup_id)
    if asker is None or asker.kind != "cgroup":
        return set()
    rows = tcp_servers.upstreams_under(session, asker.node_id, asker.key, upstream)
    servers = _servers(session, asker.node_id, rows, from_us, to_us)
    return set(tree.owning_subjects(session, [row.id for row in servers]).values()) - {cgroup_id}


def _servers(
    session: Session, node_id: int, upstreams: Iterable[ResourceRow], from_us: int, to_us: int
) -> list[ResourceRow]:
    keys = _keys(session, node_id, list(upstreams), to_us)
    return _named(session, node_id, set().union(*keys.values()), MAX_ASKED, from_us, to_us)


def _keys(session: Session, node_id: int, rows: Sequence[ResourceRow], to_us: int) -> dict[int, set[str]]:
    """The server keys that each upstream may stand for."""
    known = facts.in_effect(session, [row.id for row in rows], to_us) if rows else {}
    keys: dict[int, set[str]] = {}
    for row in rows:
        told = next((fact.value for fact in reversed(known[row.id]) if fact.name == _SERVER), None)
        address, _, port = row.key.partition(">")[2].rpartition(":")
        if told:
            keys[row.id] = {told}
        else:
            at = tcp_servers.paths_at(session, node_id, address.strip("[]"))
            keys[row.id] = {f"{path}:{port}" for path in at}
    return keys


def _named(session: Session, node_id: int, keys: set[str], limit: int, from_us: int, to_us: int) -> list[ResourceRow]:
    return tcp_servers.with_keys(session, node_id, keys, limit, from_us, to_us) if keys else []
