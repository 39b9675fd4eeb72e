"""Fix: more UDP sockets on one port (CoreDNS `multisocket`), where one socket is the bottleneck."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.cpu.readings.throttling import Throttling, span_mask
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix, Found
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import config_map, versions

REFERENCES = ["https://coredns.io/plugins/multisocket/", "https://man7.org/linux/man-pages/man7/socket.7.html"]
WAIT_US = 5_000


def propose(snapshot: Snapshot, throttling: Throttling, found: Found) -> Fix | None:
    """Only for a CoreDNS with one UDP socket whose queue was measured; says so where the waits are only the stalls."""
    server = next((s for s in snapshot.dns_servers if s.fact("dns.software") == "coredns"), None)
    if server is None or (number(server.fact("dns.udp_sockets")) or 2) != 1:
        return None
    queries = server.queries
    if queries is None or queries.queue_wait_us is None or len(queries.sent_us) < 100:
        return None
    stalled = span_mask(throttling, list(throttling.judged))
    tick = np.clip((queries.sent_us - snapshot.start_us) // snapshot.step_us, 0, snapshot.ticks - 1)
    waits = queries.queue_wait_us > WAIT_US
    outside = int((waits & ~stalled[tick]).sum())
    share = outside / max(1, int(waits.sum()))
    bottleneck = outside >= 20 and share >= 0.3
    gate = versions.COREDNS_MULTISOCKET
    has = gate.open(versions.of_server(server, "coredns"))
    too_old = f"Cannot help: no multisocket before CoreDNS {gate.since_text}, and this is {server.fact('dns.version')}."
    return Fix(
        id="multisocket",
        title="Add UDP sockets (CoreDNS multisocket)",
        summary=too_old
        if bottleneck and has is False
        else f"{say.percent(share)} of the queries that waited in the receive queue did so while the CPU was not "
        "throttled: the single socket is a bottleneck."
        if bottleneck
        else f"Cannot help: {say.percent(1 - share)} of the queries that waited in the receive queue did so while "
        "the CPU was throttled, and more sockets would wait too.",
        verdict="reduces" if bottleneck and has is not False else "cannot_help",
        precondition=f"Requires CoreDNS {gate.since_text} or later: an older one refuses to start."
        if bottleneck and has is None
        else None,
        patches=config_map.multisocket(snapshot, server, 2) if bottleneck else [],
        caveats=[
            "Each socket has its own goroutines, which use more CPUs at once: with a CPU limit, throttling can get "
            "worse."
        ],
        verify="The share of the answer time spent in the receive queue falls.",
        undo="Remove the line and reload CoreDNS.",
        references=REFERENCES,
    )
