"""The path of a query over the servers of a node: who queries whom, how long it takes at each, and where it waits.

Edges come from settings (`dns.upstreams`), from addresses (a client of one server is another server) and, if a Service
address hides the server behind it, from time: the queries of one server lie inside those of another. Which servers the
Service selects (`dns.service_addresses`) narrows those down: it has others on other nodes, so alone it proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.areas.dns.readings.containment import contained_ratio
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.sketch import quantile_us
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.programs.dns_upstreams import Upstream, endpoint, service_addresses, upstreams

Known = Literal["settings", "address", "time"]
WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not bound
# Addresses that any client of the same machine can come from; other loopback addresses are assigned deliberately.
EVERYBODY_S = frozenset({"127.0.0.1", "::1"})
MANY_QUERIES = 20
INSIDE = 0.9


@dataclass(frozen=True, slots=True)
class Edge:
    """`asker` (id of a server) queries `target` (id of a server, None: not on this node) at `address:port`.

    `known` says how that was found. `upstream` are its settings, if known.
    """

    asker: int
    target: int | None
    address: str
    port: int
    zone: str
    known: Known
    upstream: Upstream | None


@dataclass(frozen=True, slots=True)
class Client:
    """A client of `server`; `asker` is the id of a server if the client is one, `queries` over the window."""

    address: str
    server: int
    asker: int | None
    queries: int


@dataclass(frozen=True, slots=True)
class HopFigures:
    """One server over the window; None: not measured.

    Times are from a query's arrival to its answer; `concurrency` is the mean number of queries in flight.
    """

    queries: int
    qps: float
    p50_us: float | None
    p99_us: float | None
    max_us: float | None
    errors: int
    timeouts: int
    concurrency: float | None


@dataclass(frozen=True, slots=True)
class PathGraph:
    """Servers by id (the subject's first), who queries whom, and the clients of the subject's servers."""

    servers: dict[int, ResourceView]
    edges: tuple[Edge, ...]
    clients: tuple[Client, ...]

    def upstreams_of(self, server: int) -> list[Edge]:
        return [edge for edge in self.edges if edge.asker == server]

    def askers_of(self, server: int) -> list[Edge]:
        return [edge for edge in self.edges if edge.target == server]

    def view(self, server: int | None) -> ResourceView | None:
        return None if server is None else self.servers.get(server)


@reading
def path(snapshot: Snapshot) -> PathGraph:
    """The graph around the subject. Servers without known upstreams or clients are included without edges."""
    servers = {view.id: view for view in (*snapshot.dns_servers, *snapshot.neighbours) if view.kind == "dns_server"}
    edges: list[Edge] = []
    for asker in servers.values():
        edges += _by_settings(asker, servers)
    paths = [view for view in snapshot.dns_paths if view.kind == "dns_path"]
    for edge in _by_address(paths, servers):
        if not any(known.asker == edge.asker and known.target == edge.target for known in edges):
            edges.append(edge)
    return PathGraph(servers, tuple(_by_time(edges, servers)), _clients(paths, servers))


def _by_settings(asker: ResourceView, servers: dict[int, ResourceView]) -> Iterable[Edge]:
    for upstream in upstreams(asker):
        target = _at(upstream.address, upstream.port, asker, servers)
        yield Edge(asker.id, target, upstream.address, upstream.port, upstream.zone, "settings", upstream)


def _at(address: str, port: int, asker: ResourceView, servers: dict[int, ResourceView]) -> int | None:
    """The server at an address. Loopback belongs to one namespace: its servers have the same suffix in their key."""
    matches = []
    for view in servers.values():
        at = endpoint(view)
        if view.id == asker.id or at is None or at[1] != port:
            continue
        local = is_loopback(address) or at[0] in WILDCARDS
        if at[0] == address or at[0] in WILDCARDS:
            near = _namespace(view) == _namespace(asker)
            matches.append((near if local else True, at[0] == address, -view.id))
    best = max(matches, default=None)
    return -best[2] if best is not None and best[0] else None


def is_loopback(address: str) -> bool:
    """Whether the address is a loopback address, of the same network namespace."""
    return address.startswith("127.") or address == "::1"


def _namespace(view: ResourceView) -> str:
    return view.key.partition("@")[2]


def _by_address(paths: Sequence[ResourceView], servers: dict[int, ResourceView]) -> Iterable[Edge]:
    """A client of a server whose address is that of exactly one other server of the node (not loopback)."""
    owners: dict[str, list[int]] = {}
    for view in servers.values():
        at = endpoint(view)
        if at is not None and at[0] not in WILDCARDS | EVERYBODY_S:
            owners.setdefault(at[0], []).append(view.id)
    for view in paths:
        client, _, key = view.key.partition(">")
        target = next((server.id for server in servers.values() if server.key == key), None)
        askers = [number for number in owners.get(client, []) if number != target and upstreams(servers[number])]
        at = endpoint(servers[target]) if target is not None else None
        if target is not None and at is not None and len(askers) == 1:
            yield Edge(askers[0], target, at[0], at[1], ".", "address", None)


def _by_time(edges: list[Edge], servers: dict[int, ResourceView]) -> Iterable[Edge]:
    """Edges to a Service's address get the server behind it if that server's queries lie inside the asker's."""
    asked = {(edge.asker, edge.target) for edge in edges if edge.target is not None}
    reached = {edge.target for edge in edges if edge.target is not None}
    for edge in edges:
        if edge.target is not None or is_loopback(edge.address):
            yield edge
            continue
        inside = []
        for view in _candidates(edge.address, servers):
            free = view.id != edge.asker and view.id not in reached and (view.id, edge.asker) not in asked
            at = endpoint(view)
            if free and at is not None and at[1] == edge.port:
                ratio, queries = contained_ratio(servers[edge.asker].queries, view.queries)
                if queries >= MANY_QUERIES and ratio >= INSIDE:
                    inside.append(view.id)
        target = inside[0] if len(inside) == 1 else None
        known: Known = "time" if target is not None else edge.known
        yield Edge(edge.asker, target, edge.address, edge.port, edge.zone, known, edge.upstream)


def _candidates(address: str, servers: dict[int, ResourceView]) -> list[ResourceView]:
    """Servers that can be behind an address: those that its Service selects, or all if none is known to be selected."""
    return [one for one in servers.values() if address in service_addresses(one)] or list(servers.values())


def _clients(paths: Sequence[ResourceView], servers: dict[int, ResourceView]) -> tuple[Client, ...]:
    by_key = {view.key: view.id for view in servers.values()}
    by_address = {at[0]: view.id for view in servers.values() if (at := endpoint(view)) is not None}
    found = []
    for view in paths:
        address, _, key = view.key.partition(">")
        if key not in by_key:
            continue
        asker = by_address.get(address)
        local = address in EVERYBODY_S
        queries = view.series.get("dns_queries")
        count = int(np.nansum(queries)) if queries is not None else 0
        found.append(Client(address, by_key[key], None if local or asker == by_key[key] else asker, count))
    return tuple(sorted(found, key=lambda client: (-client.queries, client.address)))


def figures(snapshot: Snapshot, server: ResourceView) -> HopFigures:
    """Figures of one server over the window."""
    n = snapshot.ticks
    queries, inflight = series(server, "dns_queries", n), series(server, "dns_inflight", n)
    known = int(np.isfinite(queries).sum())
    total = float(np.nansum(queries))
    p50, p99 = quantiles(server)
    peaks = series(server, "dns_latency_max_us", n)
    errors = sum(float(np.nansum(series(server, name, n))) for name in ("dns_servfail", "dns_refused"))
    return HopFigures(
        queries=int(total),
        qps=total / (known * snapshot.step_us / 1e6) if known else 0.0,
        p50_us=p50,
        p99_us=p99,
        max_us=float(np.nanmax(peaks)) if np.isfinite(peaks).any() else None,
        errors=int(errors),
        timeouts=int(np.nansum(series(server, "dns_timeouts", n))),
        concurrency=float(np.nanmean(inflight)) if np.isfinite(inflight).any() else None,
    )


def quantiles(server: ResourceView, ticks: FloatArray | None = None) -> tuple[float | None, float | None]:
    """(p50, p99) of the answer time, µs, in all ticks or those where `ticks` is not 0; None without answers."""
    part = server.distributions.get("dns_latency_us")
    if part is None:
        return None, None
    bucket, count = part.bucket, part.count
    if ticks is not None:
        chosen = ticks[part.tick] != 0
        bucket, count = bucket[chosen], count[chosen]
    values = [quantile_us(bucket, count, q) for q in (0.5, 0.99)] if len(bucket) else [float("nan")] * 2
    p50, p99 = (value if np.isfinite(value) else None for value in values)
    return p50, p99
