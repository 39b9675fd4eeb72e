"""The measured paths between places: from a container to an address it calls, from a client to a DNS server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy.orm import Session

from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import ResourceRow
from jitterscope.services.callmap import places
from jitterscope.services.callmap.places import Cgroups, Place

Protocol = Literal["tcp", "dns"]
# Paths that one answer compares, of each protocol.
MAX_PATHS = 1000
_SERVER = "upstream.server"


@dataclass(frozen=True, slots=True)
class Path:
    """`row` has the series. `server` is the called one if it is known, cgroups are those of the ends."""

    protocol: Protocol
    row: ResourceRow
    caller: Place
    called: Place
    caller_cgroup: int | None
    called_cgroup: int | None
    server: ResourceRow | None

    @property
    def key(self) -> tuple[str, str, Protocol]:
        """The same for all paths that are one call of the map."""
        return self.caller.id, self.called.id, self.protocol


@dataclass(frozen=True, slots=True)
class Found:
    """The paths of a window: `seen` there were, the latest of them were read."""

    paths: tuple[Path, ...]
    read: int
    seen: int


def read(session: Session, from_us: int, to_us: int) -> Found:
    """Every path seen in a window, with the places at its ends."""
    calls, calls_seen = inventory.paths_seen(session, "tcp_upstream", from_us, to_us, MAX_PATHS)
    lookups, lookups_seen = inventory.paths_seen(session, "dns_path", from_us, to_us, MAX_PATHS)
    addresses = {endpoint(row)[0] for row in calls} | {client(row) for row in lookups}
    at = inventory.cgroups_with_addresses(session, addresses, from_us, to_us)
    servers = {row.parent_id for row in lookups if row.parent_id is not None}
    dns = _Dns(inventory.resources(session, sorted(servers)), inventory.owning_subjects(session, sorted(servers)))
    told = _told(session, calls, to_us)
    named = _named(session, calls, told, at, (from_us, to_us))
    homes = {one for found in at.values() for one in found} | set(dns.cgroups.values())
    homes |= {row.parent_id for row in (*calls, *named.values()) if row.parent_id is not None}
    cgroups = Cgroups.read(session, sorted(homes))
    tcp = _Tcp(told, named)
    paths = [
        *(path for row in calls if (path := tcp.path(row, cgroups, at)) is not None),
        *(path for row in lookups if (path := dns.path(row, cgroups, at)) is not None),
    ]
    return Found(tuple(paths), len(calls) + len(lookups), calls_seen + lookups_seen)


def endpoint(row: ResourceRow) -> tuple[str, str]:
    """Address and port that a TCP upstream stands for."""
    address, _, port = row.key.partition(">")[2].rpartition(":")
    return address.strip("[]"), port


def client(row: ResourceRow) -> str:
    """The client of a DNS path."""
    return row.key.partition(">")[0]


@dataclass(frozen=True, slots=True)
class _Tcp:
    """Keys of servers as told by collectors, and the servers by node and key."""

    told: Mapping[int, str]
    named: Mapping[tuple[int, str], ResourceRow]

    def path(self, row: ResourceRow, cgroups: Cgroups, at: Mapping[str, Sequence[int]]) -> Path | None:
        caller = row.parent_id
        if caller is None or caller not in cgroups.rows:
            return None
        address, port = endpoint(row)
        homes = cgroups.at(at.get(address, ()), row.node_id)
        server = self._server(row, cgroups, homes, port)
        if server is not None and server.parent_id is not None:
            homes = [server.parent_id]
        called, home = cgroups.only_place(homes) or (places.of_address(row.key.partition(">")[2]), None)
        return Path("tcp", row, cgroups.place(caller), called, caller, home, server)

    def _server(self, row: ResourceRow, cgroups: Cgroups, homes: Iterable[int], port: str) -> ResourceRow | None:
        told = self.named.get((row.node_id, self.told.get(row.id, "")))
        if told is not None:
            return told
        keys = [(cgroups.rows[one].node_id, f"{cgroups.rows[one].key}:{port}") for one in homes]
        found = [self.named[key] for key in keys if key in self.named]
        return found[0] if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class _Dns:
    """DNS servers, and the cgroup of each that has one."""

    servers: Mapping[int, ResourceRow]
    cgroups: Mapping[int, int]

    def path(self, row: ResourceRow, cgroups: Cgroups, at: Mapping[str, Sequence[int]]) -> Path | None:
        server = self.servers.get(row.parent_id or 0)
        if server is None:
            return None
        home = self.cgroups.get(server.id)
        called = places.of_server(server) if home is None else cgroups.place(home)
        homes = cgroups.at(at.get(client(row), ()), row.node_id)
        caller, caller_home = cgroups.only_place(homes) or (places.clients_of(called), None)
        return Path("dns", row, caller, called, caller_home, home, server)


def _told(session: Session, calls: Sequence[ResourceRow], to_us: int) -> dict[int, str]:
    facts = inventory.facts(session, [row.id for row in calls], to_us, names=[_SERVER])
    return {one: known[-1].value for one, known in facts.items() if known and known[-1].value}


def _named(
    session: Session,
    calls: Sequence[ResourceRow],
    told: Mapping[int, str],
    at: Mapping[str, Sequence[int]],
    span: tuple[int, int],
) -> dict[tuple[int, str], ResourceRow]:
    """The servers that the calls can have reached, by node and key."""
    homes = inventory.resources(session, sorted({one for row in calls for one in at.get(endpoint(row)[0], ())}))
    keys = {(row.node_id, told[row.id]) for row in calls if row.id in told}
    for row in calls:
        address, port = endpoint(row)
        keys |= {(homes[one].node_id, f"{homes[one].key}:{port}") for one in at.get(address, ()) if one in homes}
    return inventory.tcp_servers_named(session, keys, *span)
