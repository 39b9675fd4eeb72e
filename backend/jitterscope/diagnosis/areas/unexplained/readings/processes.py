"""Which processes of the subject serve the requests of one of its servers."""

from __future__ import annotations

from jitterscope.diagnosis.core import signals
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot


def serving(snapshot: Snapshot, server: ResourceView) -> tuple[ResourceView, ...]:
    """The listening process and all of the same program, its workers; empty if unknown or not watched."""
    if server.kind == "dns_server":
        software = server.fact("dns.software")
        return tuple(one for one in snapshot.processes if software is not None and signals.runs(one, software))
    key, name = server.fact("tcp.process"), server.fact("tcp.program")
    listener = next((one for one in snapshot.processes if one.key == key), None)
    if listener is not None:
        name = signals.program(listener)
    return tuple(one for one in snapshot.processes if one.key == key or (name and signals.program(one) == name))
