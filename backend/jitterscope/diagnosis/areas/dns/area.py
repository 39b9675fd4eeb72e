"""The area `dns`, as the timeline, verification, what-if and the UI see it."""

from __future__ import annotations

from jitterscope.diagnosis.areas.dns.measures import LOAD, MEASURES
from jitterscope.diagnosis.areas.dns.settings import FACTS, LISTED, SIGHTINGS
from jitterscope.diagnosis.core import impact
from jitterscope.diagnosis.core.area import Area, Lane, Line

# Connections, backlog and error lines are in the timeline's own picture of a DNS server.
LANES = (
    Lane(
        "dns_failures", "Failed queries", "1",
        (
            Line("timed out", "dns_timeouts", "bars", hot=True, of="dns_servers"),
            Line("SERVFAIL", "dns_servfail", "bars", hot=True, of="dns_servers"),
            Line("SERVFAIL after the timeout", "dns_late_servfail", "bars", of="dns_servers"),
            Line("REFUSED", "dns_refused", "bars", of="dns_servers"),
        ),
    ),
    Lane(
        "dns_nxdomain", "NXDOMAIN answers", "1",
        (
            Line("all answers", "dns_answers", "line", of="dns_servers"),
            Line("NXDOMAIN", "dns_nxdomain", "area", hot=True, of="dns_servers"),
        ),
    ),
    Lane(
        "dns_receive_queue", "Receive queue of the UDP sockets", "bytes",
        (Line("waiting unread", "dns_receive_queue_bytes", "area", hot=True, of="dns_servers"),),
    ),
    Lane(
        "dns_socket_drops", "Datagrams dropped by a full receive queue", "1",
        (Line("dropped", "dns_socket_drops", "bars", hot=True, of="dns_servers"),),
    ),
)  # fmt: skip

AREA = Area(
    id="dns",
    title="DNS",
    lanes=LANES,
    impact=(*impact.ANSWERS, *impact.CPU_USE),
    measures=MEASURES,
    load=LOAD,
    facts=FACTS,
    also_listed=LISTED,
    sightings=SIGHTINGS,
)
