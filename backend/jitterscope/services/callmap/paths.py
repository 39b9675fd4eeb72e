"""The measured paths between places: from a container to an address it calls, from a client to a DNS server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy.orm import Session

from jitterscope.inventory import service as inventory
from jitterscope.inventory.kubernetes_services import CalledService
from jitterscope.inventory.types import ResourceRow
from jitterscope.services.callmap import places
from jitterscope.services.callmap.places import Cgroups, Place

Protocol = Literal["tcp", "dns"]
# Paths that one answer compares, of each protocol.
MAX_PATHS = 1000
_SERVER = "upstream.server"


@dataclass(frozen=True, slots=True)
class Path:
    """`row` has the series. `server` is the called one if it is known, cgroups are those of the ends.

    `service`: NAMESPACE/NAME of the Kubernetes Service whose address was called. `behind`: what it selects.
    """

    protocol: Protocol
    row: ResourceRow
    caller: Place
    called: Place
    caller_cgroup: int | None
    called_cgroups: tuple[int, ...]
    server: ResourceRow | None
    service: str | None = None
    behind: tuple[Place, ...] = ()

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
    services = inventory.services_called(session, calls, from_us, to_us)
    named = _named(session, calls, told, _Behind(at, services), (from_us, to_us))
    homes = {one for found in at.values() for one in found} | set(dns.cgroups.values())
    homes |= {row.parent_id for row in (*calls, *named.values()) if row.parent_id is not None}
    homes |= {one for service in services.values() for one in service.ports}
    cgroups = Cgroups.read(session, sorted(homes))
    tcp = _Tcp(told, named, services)
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
class _Behind:
    """The cgroups that have the called addresses, and those behind the called Services."""

    at: Mapping[str, Sequence[int]]
    services: Mapping[int, CalledService]

    def ports(self, row: ResourceRow) -> Iterable[tuple[int, int | str]]:
        """Cgroups that a call can have reached, each with the port there."""
        address, port = endpoint(row)
        service = self.services.get(row.id)
        return [(one, port) for one in self.at.get(address, ())] if service is None else service.ports.items()


@dataclass(frozen=True, slots=True)
class _Tcp:
    """Keys of servers as told by collectors, the servers by node and key, and the Services that were called."""

    told: Mapping[int, str]
    named: Mapping[tuple[int, str], ResourceRow]
    services: Mapping[int, CalledService]

    def path(self, row: ResourceRow, cgroups: Cgroups, at: Mapping[str, Sequence[int]]) -> Path | None:
        caller = row.parent_id
        if caller is None or caller not in cgroups.rows:
            return None
        told = self.named.get((row.node_id, self.told.get(row.id, "")))
        service = self.services.get(row.id)
        if told is None and service is not None:
            return self._through(row, caller, service, cgroups)
        address, port = endpoint(row)
        homes = cgroups.at(at.get(address, ()), row.node_id)
        found = [told] if told is not None else self._listening(cgroups, dict.fromkeys(homes, port))
        server = found[0] if len(found) == 1 else None
        if server is not None and server.parent_id is not None:
            homes = [server.parent_id]
        called, home = cgroups.only_place(homes) or (places.of_address(row.key.partition(">")[2]), None)
        return Path("tcp", row, cgroups.place(caller), called, caller, () if home is None else (home,), server)

    def _through(self, row: ResourceRow, caller: int, service: CalledService, cgroups: Cgroups) -> Path:
        """A call to a Service, which spreads calls over its pods: only if it has one is the called one known."""
        behind = cgroups.places(service.ports)
        only = cgroups.only_place(list(service.ports))
        if only is None:
            called = places.of_service(service.name)
            return Path("tcp", row, cgroups.place(caller), called, caller, (), None, service.name, behind)
        servers = self._listening(cgroups, service.ports)
        homes = tuple(sorted({one.parent_id for one in servers if one.parent_id is not None})) or (only[1],)
        server = servers[0] if len(servers) == 1 and cgroups.is_one_pod(service.ports) else None
        return Path("tcp", row, cgroups.place(caller), only[0], caller, homes, server, service.name, behind)

    def _listening(self, cgroups: Cgroups, ports: Mapping[int, int | str]) -> list[ResourceRow]:
        rows = [(cgroups.rows[one], port) for one, port in ports.items() if one in cgroups.rows]
        keys = [(row.node_id, f"{row.key}:{port}") for row, port in rows]
        return [self.named[key] for key in keys if key in self.named]


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
        return Path("dns", row, caller, called, caller_home, () if home is None else (home,), server)


def _told(session: Session, calls: Sequence[ResourceRow], to_us: int) -> dict[int, str]:
    facts = inventory.facts(session, [row.id for row in calls], to_us, names=[_SERVER])
    return {one: known[-1].value for one, known in facts.items() if known and known[-1].value}


def _named(
    session: Session,
    calls: Sequence[ResourceRow],
    told: Mapping[int, str],
    behind: _Behind,
    span: tuple[int, int],
) -> dict[tuple[int, str], ResourceRow]:
    """The servers that the calls can have reached, by node and key."""
    reached = [one for row in calls for one in behind.ports(row)]
    homes = inventory.resources(session, sorted({one for one, _ in reached}))
    keys = {(row.node_id, told[row.id]) for row in calls if row.id in told}
    keys |= {(homes[one].node_id, f"{homes[one].key}:{port}") for one, port in reached if one in homes}
    return inventory.tcp_servers_named(session, keys, *span)
