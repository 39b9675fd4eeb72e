"""GET /dns/path: the path of a query over a node's servers, with the figures of each station in a window."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from jitterscope.diagnosis.areas.dns.readings.path import Client, Edge, PathGraph, path
from jitterscope.diagnosis.areas.dns.readings.search_lists import addresses_of
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.dns.figures import per_second, rates, station_figures
from jitterscope.dns.hops import Station, own_time, stations
from jitterscope.dns.schemas import DnsHop, DnsHopClient, DnsLink
from jitterscope.incidents.api.schemas import IncidentRef
from jitterscope.inventory.types import ResourceRow

MAX_CLIENTS = 8
_LOOPBACK = ("127.", "::1")


@dataclass(frozen=True, slots=True)
class Picture:
    hops: list[DnsHop]
    links: list[DnsLink]


@dataclass(frozen=True, slots=True)
class _Asked:
    """Edges from one station to another, or to an endpoint elsewhere."""

    asker: Station
    asked: Station | str
    edges: tuple[Edge, ...]


def build(
    snapshot: Snapshot,
    processes: Mapping[int, int],
    cgroups: Mapping[int, ResourceRow],
    incidents: Mapping[int, Sequence[IncidentRef]],
) -> Picture:
    """Build the picture. `snapshot` is of a node; its servers are the neighbors.

    `processes` and `cgroups` are those of each server, `incidents` by the id of the cgroup.
    """
    # A server that ended is listed for some more minutes, but did nothing in the window.
    snapshot = replace(snapshot, neighbours=tuple(view for view in snapshot.neighbours if view.series))
    graph = path(snapshot)
    known = {view.id: view for view in snapshot.processes}
    found = stations(
        snapshot.neighbours,
        {server: known[process] for server, process in processes.items() if process in known},
        dict(cgroups),
    )
    asked = _asked(graph, found)
    levels = _levels(found, asked)
    workloads = {view.id: view for view in snapshot.workloads}
    hops: list[DnsHop] = []
    links: list[DnsLink] = []
    paths = {view.key: view for view in snapshot.dns_paths}
    for station in found:
        askers = [one.asker for one in asked if one.asked == station]
        own = [client for client in graph.clients if client.server in station.server_ids]
        clients = [client for client in own if not _is_server(client, askers, graph, workloads)]
        of_clients = [view for client in clients if (view := _path_of(client, graph, paths)) is not None]
        hop = _server(snapshot, graph, station, levels[station.id], incidents)
        hops.append(hop)
        if of_clients or not askers:
            entry = _clients(snapshot, station, of_clients, workloads.values(), alone=not askers)
            if entry is not None:
                hops.append(entry)
                links.append(_client_link(entry, hop))
    links += [_link(snapshot, one, asked, graph, workloads, paths) for one in asked]
    for endpoint in dict.fromkeys(one.asked for one in asked if isinstance(one.asked, str)):
        level = 1 + max(levels[one.asker.id] for one in asked if one.asked == endpoint)
        hops.append(_upstream(endpoint, level))
    return Picture(sorted(hops, key=lambda hop: (hop.level, hop.id)), links)


def _asked(graph: PathGraph, found: Sequence[Station]) -> list[_Asked]:
    owner = {number: station for station in found for number in station.server_ids}
    groups: dict[tuple[str, str], tuple[Station, Station | str, list[Edge]]] = {}
    for edge in graph.edges:
        asker = owner[edge.asker]
        target: Station | str = owner[edge.target] if edge.target is not None else _endpoint(edge)
        if target == asker:
            continue
        name = target if isinstance(target, str) else target.id
        groups.setdefault((asker.id, name), (asker, target, []))[2].append(edge)
    return [_Asked(asker, target, tuple(edges)) for asker, target, edges in groups.values()]


def _endpoint(edge: Edge) -> str:
    return f"[{edge.address}]:{edge.port}" if ":" in edge.address else f"{edge.address}:{edge.port}"


def _levels(found: Sequence[Station], asked: Sequence[_Asked]) -> dict[str, int]:
    """1 for stations that only clients query, else one more than the farthest asker; bounded if there is a loop."""
    levels = {station.id: 1 for station in found}
    for _ in found:
        for one in asked:
            if isinstance(one.asked, Station):
                levels[one.asked.id] = max(levels[one.asked.id], min(levels[one.asker.id] + 1, len(found)))
    return levels


def _is_server(
    client: Client, askers: Sequence[Station], graph: PathGraph, workloads: Mapping[int, ResourceView]
) -> bool:
    """Whether a client is a station that queries this one: by address, or because only a station would use loopback."""
    if client.asker is not None and any(client.asker in station.server_ids for station in askers):
        return True
    if askers and client.address.startswith(_LOOPBACK):
        return True
    return any(client.address in _addresses(station, workloads) for station in askers)


def _addresses(station: Station, workloads: Mapping[int, ResourceView]) -> frozenset[str]:
    home = None if station.cgroup is None else workloads.get(station.cgroup.id)
    return frozenset() if home is None else addresses_of(home)


def _path_of(client: Client, graph: PathGraph, paths: Mapping[str, ResourceView]) -> ResourceView | None:
    server = graph.view(client.server)
    return None if server is None else paths.get(f"{client.address}>{server.key}")


def _server(
    snapshot: Snapshot,
    graph: PathGraph,
    station: Station,
    level: int,
    incidents: Mapping[int, Sequence[IncidentRef]],
) -> DnsHop:
    own = own_time(graph, station)
    cgroup = station.cgroup
    return DnsHop(
        id=station.id,
        kind="server",
        name=_name(station),
        addresses=[view.key.partition("@")[0] for view in station.views],
        software=station.whole.fact("dns.software"),
        version=station.whole.fact("dns.version"),
        resource_ids=sorted(station.server_ids),
        cgroup_id=None if cgroup is None else cgroup.id,
        level=level,
        own_p50_us=None if own is None else own.p50_us,
        own_p99_us=None if own is None else own.p99_us,
        own_max_us=None if own is None else own.max_us,
        matched_queries=0 if own is None else own.queries,
        clients=[],
        incidents=[] if cgroup is None else list(incidents.get(cgroup.id, ())),
        **station_figures(snapshot, station),
    )


def _name(station: Station) -> str:
    """Pod and container if they are known; else the kind of server."""
    cgroup = station.cgroup
    if cgroup is not None and cgroup.name != cgroup.key:
        return cgroup.name
    return station.whole.fact("dns.software") or station.whole.name


_NOTHING = dict.fromkeys(
    (
        "software", "version", "cgroup_id", "queries_per_s", "p50_us", "p99_us", "max_us", "own_p50_us", "own_p99_us",
        "own_max_us", "slow_ratio", "error_ratio", "nxdomain_ratio", "timeouts", "concurrency", "connections", "idle",
        "backlog", "dropped", "children", "child_limit", "upstream_connections", "upstream_idle",
        "new_connections_per_s", "cache_hit_ratio", "forward_mean_us", "rejected",
    )
)  # fmt: skip


def _clients(
    snapshot: Snapshot,
    station: Station,
    views: Sequence[ResourceView],
    workloads: Iterable[ResourceView],
    *,
    alone: bool,
) -> DnsHop | None:
    """Clients of a server that are not servers themselves; None if there were no queries."""
    total = rates(snapshot, views)
    if total.queries_per_s is None and alone:
        total = rates(snapshot, [station.whole])
    if not total.queries_per_s:
        return None
    named: dict[str, list[str]] = {}
    for workload in workloads:
        for address in addresses_of(workload):
            named.setdefault(address, []).append(workload.name)
    listed = []
    for view in views:
        address, one = view.key.partition(">")[0], rates(snapshot, [view])
        if one.queries_per_s:
            listed.append(
                DnsHopClient(
                    address=address,
                    names=sorted(named.get(address, []))[:4],
                    queries_per_s=one.queries_per_s,
                    p99_us=one.p99_us,
                    error_ratio=one.error_ratio,
                )
            )
    return DnsHop.model_validate(
        _NOTHING
        | {
            "id": f"clients-{station.id}",
            "kind": "clients",
            "name": "Clients",
            "addresses": [],
            "resource_ids": [],
            "level": 0,
            "queries_per_s": total.queries_per_s,
            "p50_us": total.p50_us,
            "p99_us": total.p99_us,
            "error_ratio": total.error_ratio,
            "nxdomain_ratio": total.nxdomain_ratio,
            "slow_ratio": total.slow_ratio,
            "timeouts": total.timeouts,
            "matched_queries": 0,
            "error_lines": 0,
            "clients": sorted(listed, key=lambda one: -one.queries_per_s)[:MAX_CLIENTS],
            "incidents": [],
        }
    )


def _upstream(endpoint: str, level: int) -> DnsHop:
    return DnsHop.model_validate(
        _NOTHING
        | {
            "id": f"upstream-{endpoint}", "kind": "upstream", "name": endpoint, "addresses": [endpoint],
            "resource_ids": [], "level": level, "matched_queries": 0, "error_lines": 0, "clients": [], "incidents": [],
        }
    )  # fmt: skip


def _client_link(entry: DnsHop, hop: DnsHop) -> DnsLink:
    return DnsLink(
        asker=entry.id, asked=hop.id, zones=[], protocol=None, known="clients", max_concurrent=None,
        queries_per_s=entry.queries_per_s, p50_us=entry.p50_us, p99_us=entry.p99_us, mean_us=None,
    )  # fmt: skip


def _link(
    snapshot: Snapshot,
    one: _Asked,
    asked: Sequence[_Asked],
    graph: PathGraph,
    workloads: Mapping[int, ResourceView],
    paths: Mapping[str, ResourceView],
) -> DnsLink:
    settings = [edge.upstream for edge in one.edges if edge.upstream is not None]
    forward = station_figures(snapshot, one.asker)
    only = sum(other.asker == one.asker for other in asked) == 1
    mean_us, rate = forward["forward_mean_us"], None
    p50_us = p99_us = None
    if isinstance(one.asked, Station):
        station = one.asked
        askers = [other.asker for other in asked if other.asked == station]
        own = [client for client in graph.clients if client.server in station.server_ids]
        mine = [client for client in own if _is_server(client, [one.asker], graph, workloads)]
        views = [view for client in mine if (view := _path_of(client, graph, paths)) is not None]
        if len(askers) == 1 and all(_is_server(client, askers, graph, workloads) for client in own):
            views = [station.whole]
        total = rates(snapshot, views)
        rate, p50_us, p99_us = total.queries_per_s, total.p50_us, total.p99_us
    elif only:
        rate = per_second(snapshot, one.asker.whole, "coredns_forward_requests")
    return DnsLink(
        asker=one.asker.id,
        asked=one.asked.id if isinstance(one.asked, Station) else f"upstream-{one.asked}",
        zones=sorted({edge.zone for edge in one.edges}),
        protocol=_protocol(one),
        known=one.edges[0].known,
        max_concurrent=next((up.max_concurrent for up in settings if up.max_concurrent is not None), None),
        queries_per_s=rate,
        p50_us=p50_us,
        p99_us=p99_us,
        mean_us=mean_us,
    )


def _protocol(one: _Asked) -> Literal["tcp", "udp", "as_asked"] | None:
    """CoreDNS: force_tcp overrides prefer_udp; without either, a query is forwarded with the protocol it came by."""
    settings = [edge.upstream for edge in one.edges if edge.upstream is not None]
    if not settings:
        return None
    if any(upstream.force_tcp for upstream in settings):
        return "tcp"
    return "udp" if any(upstream.prefer_udp for upstream in settings) else "as_asked"
