"""Settings of DNS whose change may be a fix: facts of the servers, and what a window shows of who asks them."""

from __future__ import annotations

import json

from jitterscope.diagnosis.areas.dns.readings.path import path
from jitterscope.diagnosis.areas.dns.readings.search_lists import addresses_of
from jitterscope.diagnosis.core import answers
from jitterscope.diagnosis.core.area import Sighting, WatchedFact
from jitterscope.diagnosis.core.snapshot import FactValue, ResourceView, Snapshot
from jitterscope.diagnosis.programs.dns_upstreams import (
    SERVICE_ADDRESSES,
    Upstream,
    endpoint,
    service_addresses,
    upstreams,
)
from jitterscope.diagnosis.programs.resolv_conf import parse

IN_FRONT, RESOLV_CONF = "seen.dns_in_front", "seen.dns_resolv_conf"
RECEIVE_BUFFER = "node.rmem_default"


def _in_front(snapshot: Snapshot) -> FactValue | None:
    """The node's DNS servers that ask the subject's: their software, and how each forwards here.

    A server in front is seen by its settings, or as the address that asks. One that forwards to a Service which selects
    the subject's pod is in front: some of its queries come here. None where nobody is known to ask, or if a server asks
    an address that could be such a Service's.
    """
    graph = path(snapshot)
    own = {server.id for server in snapshot.dns_servers}
    asking = {edge.asker for server in own for edge in graph.askers_of(server)}
    asking |= {
        view.id
        for view in graph.servers.values()
        if any(_reaches(upstream, server) for upstream in upstreams(view) for server in snapshot.dns_servers)
    }
    askers = {number: graph.servers[number] for number in sorted(asking - own)}
    unresolved = any(edge.target is None and edge.asker not in own for edge in graph.edges)
    told = all(server.fact(SERVICE_ADDRESSES) is not None for server in snapshot.dns_servers)
    if not askers and ((unresolved and not told) or not any(client.server in own for client in graph.clients)):
        return None
    value = {
        "software": sorted({view.fact("dns.software") or "unknown" for view in askers.values()}),
        "force_tcp": any(up.force_tcp for view in askers.values() for up in upstreams(view)),
        "upstreams": max((len({up.endpoint for up in upstreams(view)}) for view in askers.values()), default=0),
    }
    since = [fact.since_us for view in askers.values() for fact in view.facts if fact.name == "dns.upstreams"]
    return FactValue(IN_FRONT, json.dumps(value, sort_keys=True), max(since, default=snapshot.start_us))


def _reaches(upstream: Upstream, server: ResourceView) -> bool:
    """Whether this is the address of a Service that the server is behind."""
    at = endpoint(server)
    return at is not None and at[1] == upstream.port and upstream.address in service_addresses(server)


def _resolv_conf(snapshot: Snapshot) -> FactValue | None:
    """Every `ndots` and `timeout` (s) that the clients' resolv.conf sets, once each; None where none is known.

    Not by client: a fix replaces the pods.
    """
    clients = {client.address for client in path(snapshot).clients}
    own = {at[0] for server in snapshot.dns_servers if (at := endpoint(server)) is not None}
    ndots: set[int] = set()
    timeouts: set[float] = set()
    since = []
    for view in snapshot.workloads:
        conf = parse(view.fact("dns.resolv_conf"))
        if conf is None or not (addresses_of(view) & clients or own & set(conf.nameservers)):
            continue
        ndots.add(conf.ndots)
        timeouts.add(conf.timeout_s)
        since += [fact.since_us for fact in view.facts if fact.name == "dns.resolv_conf"]
    if not ndots:
        return None
    value = {"ndots": sorted(ndots), "timeout_s": sorted(timeouts)}
    return FactValue(RESOLV_CONF, json.dumps(value, sort_keys=True), max(since))


def _summary(value: str | None) -> str | None:
    """Corefiles and their like are too long to show: their plugins."""
    if value is None:
        return None
    try:
        blocks = json.loads(value)
        return "; ".join(
            f"{' '.join(block['zones'])}: {', '.join(plugin['name'] for plugin in block['plugins'])}"
            for block in blocks
        )
    except (ValueError, TypeError, KeyError):
        return value


def _endpoints(value: str | None) -> str | None:
    try:
        listed = json.loads(value or "null")
        return ", ".join(sorted({f"{one['address']} ({one.get('zone', '.')})" for one in listed})) if listed else None
    except (ValueError, TypeError, KeyError):
        return value


def _size(value: str | None) -> str | None:
    try:
        read = json.loads(value or "null")
        return (
            None
            if read is None
            else f"{read['nodes']} nodes, {read['cores']} cores, {read['kube_dns_replicas']} replicas of kube-dns"
        )
    except (ValueError, TypeError, KeyError):
        return value


def _resolver(value: str | None) -> str | None:
    conf = parse(value)
    if conf is None:
        return value
    return f"nameserver {', '.join(conf.nameservers)}; search {' '.join(conf.search) or 'none'}; ndots:{conf.ndots}"


FACTS = (
    WatchedFact("dns.software", "DNS server", "dns_servers"),
    answers.DNS_VERSION,
    answers.UDP_SOCKETS,
    answers.COREFILE,
    WatchedFact("dns.corefile_parsed", "Corefile plugins", "dns_servers", _summary, effective_s=answers.RELOADED_S),
    WatchedFact("dns.arguments", "Arguments of dnsmasq", "dns_servers", known_by="dns.upstreams"),
    WatchedFact("dns.child_limit", "Concurrent TCP connections", "dns_servers", known_by="dns.upstreams"),
    WatchedFact("dns.negative_cache", "Negative cache", "dns_servers", known_by="dns.upstreams"),
    WatchedFact("dns.upstreams", "Upstreams", "dns_servers", _endpoints, effective_s=answers.RELOADED_S),
    answers.IMAGE,
    answers.MEMORY_LIMIT,
    WatchedFact("cpu.quota_us", "CPU quota per period", "subject"),
    WatchedFact(RECEIVE_BUFFER, "net.core.rmem_default", "node"),
    WatchedFact("kube.dns_autoscaler", "Autoscaler of kube-dns", "node"),
    WatchedFact("kube.cluster_size", "Size of the cluster", "node", _size),
    WatchedFact("kube.server_version", "Kubernetes", "node"),
)
LISTED = (WatchedFact("dns.resolv_conf", "resolv.conf", "subject", _resolver),)
SIGHTINGS = (
    Sighting(
        IN_FRONT,
        "Servers in front",
        ("dns.upstreams", "dns.software", "dns_queries"),
        _in_front,
        effective_s=answers.RELOADED_S,
    ),
    Sighting(
        RESOLV_CONF, "resolv.conf of the clients", ("dns.resolv_conf", "net.addresses", "dns_queries"), _resolv_conf
    ),
)
