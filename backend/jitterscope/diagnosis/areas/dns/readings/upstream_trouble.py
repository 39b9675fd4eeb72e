"""Trouble that comes from a server's upstream: then other reasons for slow answers are not what causes the harm."""

from __future__ import annotations

from jitterscope.diagnosis.areas.dns.readings.path import path
from jitterscope.diagnosis.areas.dns.readings.slow_upstream import SlowUpstream, slow_upstream
from jitterscope.diagnosis.areas.dns.readings.upstream_time import out_of_connections
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import Snapshot

MANY_LINES = 5


@reading
def trouble_of_upstream(snapshot: Snapshot) -> str | None:
    """A description of the trouble, as the end of a sentence; None: none is known."""
    graph = path(snapshot)
    for server in snapshot.dns_servers:
        for edge in graph.upstreams_of(server.id):
            target = graph.view(edge.target)
            if target is not None and out_of_connections(snapshot, target):
                return f"{edge.address}:{edge.port} is out of connections"
    lines = sum(
        number(event.attributes.get("count")) or 1.0
        for server in snapshot.dns_servers
        for event in server.events
        if event.kind == "dns.error" and event.attributes.get("kind") == "io_timeout"
    )
    if lines >= MANY_LINES:
        return f"its upstream does not answer in time ({lines:,.0f} times)"
    slow = slow_upstream(snapshot)
    return "its upstream is slow" if isinstance(slow, SlowUpstream) and slow.hurt.severity is not None else None
