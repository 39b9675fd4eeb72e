"""A DNS server's context on its node: its clients, the servers it queries or is queried by, resolv.conf owners."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from jitterscope.inventory.store import dns_servers, facts
from jitterscope.inventory.types import ResourceRow, SubjectTree

# Limits on what a diagnosis of a DNS server reads besides its own data.
MAX_NEIGHBOURS, MAX_PATHS, MAX_WORKLOADS = 8, 72, 64
_CANDIDATES = 64
_UPSTREAMS = "dns.upstreams"
_ANY_ADDRESS = ("0.0.0.0", "[::]", "")  # noqa: S104


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address and port; an empty address means any."""

    address: str
    port: str

    def serves(self, other: Endpoint) -> bool:
        return self.port == other.port and (self.address == other.address or not self.address or not other.address)


def endpoint_of(key: str) -> Endpoint:
    """The endpoint of a DNS server's key, "10.0.0.10:53" or "127.0.0.1:53@net:4026531840"."""
    address, _, port = key.partition("@")[0].rpartition(":")
    return Endpoint("" if address in _ANY_ADDRESS else address.strip("[]"), port)


def upstreams_of(value: str | None) -> list[Endpoint]:
    """The endpoints in a dns.upstreams fact; empty if it cannot be parsed."""
    try:
        entries = json.loads(value or "[]")
    except ValueError:
        return []
    return [
        Endpoint(str(entry["address"]).strip("[]"), str(entry.get("port", 53)))
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict) and entry.get("address")
    ]


def added(session: Session, tree: SubjectTree, from_us: int, to_us: int) -> SubjectTree:
    if not tree.dns_servers:
        return tree
    own = {row.id for row in tree.dns_servers}
    candidates = dns_servers.on_node(session, tree.node.id, "dns_server", from_us, to_us, _CANDIDATES + len(own))
    others = [row for row in candidates if row.id not in own]
    paths = dns_servers.paths(session, own, from_us, MAX_PATHS)
    workloads = dns_servers.asking(session, tree.node.id, from_us, to_us, MAX_WORKLOADS)
    return replace(
        tree,
        dns_paths=tuple(sorted(paths, key=lambda row: row.id)),
        neighbours=tuple(sorted(nearest(session, tree.dns_servers, others, to_us), key=lambda row: row.id)),
        workloads=tuple(row for row in workloads if row.id != tree.subject.id),
    )


def nearest(
    session: Session, own: Sequence[ResourceRow], others: Sequence[ResourceRow], to_us: int
) -> Sequence[ResourceRow]:
    """Servers fewest hops away first, then those seen last."""
    if len(others) <= MAX_NEIGHBOURS:
        return others
    known = facts.in_effect(session, [row.id for row in (*own, *others)], to_us)
    asks = {
        identity: upstreams_of(next((fact.value for fact in rows if fact.name == _UPSTREAMS), None))
        for identity, rows in known.items()
    }
    hops = hops_from(own, others, asks)
    return sorted(others, key=lambda row: (hops.get(row.id, len(hops)), -row.last_seen_us, row.id))[:MAX_NEIGHBOURS]


def hops_from(
    own: Sequence[ResourceRow], others: Sequence[ResourceRow], asks: Mapping[int, Sequence[Endpoint]]
) -> dict[int, int]:
    """Hops along the path, in either direction, from any of `own` to each server that is connected to them."""
    servers = {row.id: endpoint_of(row.key) for row in (*own, *others)}
    links: dict[int, set[int]] = {identity: set() for identity in servers}
    for identity in servers:
        for asked in asks.get(identity, ()):
            for other, endpoint in servers.items():
                if other != identity and endpoint.serves(asked):
                    links[identity].add(other)
                    links[other].add(identity)
    hops = {row.id: 0 for row in own}
    edge = list(hops)
    while edge:
        following = sorted({other for identity in edge for other in links[identity] if other not in hops})
        distance = hops[edge[0]] + 1
        hops.update(dict.fromkeys(following, distance))
        edge = following
    return hops
