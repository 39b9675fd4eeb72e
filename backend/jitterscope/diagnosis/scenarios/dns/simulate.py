"""A simulated chain of DNS servers for the scenarios of the DNS causes: sockets, connections, children, caches.

Seeded and event by event (µs), so that a scenario is the same everywhere and its cause is known by construction. The
output is what the collector would have delivered: see views. Costs and timeouts are those of the real programs: CoreDNS
gives an attempt 2 s and a query 5 s, glibc retries after 5 s, dnsmasq serves a TCP connection in a child process and
leaves those beyond its limit in the accept queue (32 long).
"""

from __future__ import annotations

from dataclasses import dataclass

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.dns.clients import World
from jitterscope.diagnosis.scenarios.dns.model import DnsLoad
from jitterscope.diagnosis.scenarios.dns.views import snapshot_of


@dataclass(frozen=True, slots=True)
class DnsRun:
    """The snapshot, and the truth: when a client first got SERVFAIL or no answer (µs since the start; None: never)."""

    snapshot: Snapshot
    first_failure_us: int | None
    failures: int
    client_latency_us: tuple[int, ...]


def simulate_dns(load: DnsLoad) -> DnsRun:
    world = World(load)
    world.run()
    latencies = tuple(int(value) for value in world.client_latency_us)
    return DnsRun(snapshot_of(load, world), world.first_failure_us, world.failures, latencies)
