"""The area `net`, as the timeline, verification, what-if and the UI see it."""

from __future__ import annotations

from jitterscope.diagnosis.areas.net import quantities as of
from jitterscope.diagnosis.areas.net.readings import figures
from jitterscope.diagnosis.areas.net.readings.connections import DELAYS
from jitterscope.diagnosis.core import answers
from jitterscope.diagnosis.core.area import Area, Lane, Line, WatchedFact, measured

AREA = Area(
    id="net",
    title="Network",
    lanes=(
        Lane(
            "accept_queue", "Connections waiting to be accepted", "1",
            (Line("waiting, at most", "accept_queue", "area", of="tcp_servers"),),
        ),
        Lane(
            "connections", "Connections, per tick", "1",
            (
                Line("opened", "connections_opened", "line", of="tcp_servers"),
                Line("attempts dropped", "listen_drops", "bars", hot=True, of="tcp_servers"),
            ),
        ),
        Lane(
            "resent", "Retransmitted segments, per tick", "1",
            (
                Line("data", "retransmits", "bars", hot=True, of="tcp_servers"),
                Line("SYN-ACK", "synack_retransmits", "bars", of="tcp_servers"),
            ),
        ),
        Lane(
            "handshake", "Handshake", "us",
            (Line("median", "handshake_us", "line", of="tcp_servers", quantile=0.5),),
        ),
    ),
    impact=of.IMPACT,
    measures=(
        measured(of.DROPPED_RATIO, ("listen_drops", "connections_opened"), figures.dropped),
        measured(
            of.RESENT_LATE_RATIO,
            ("retransmits", *DELAYS, "responses", "connections_opened", "request_latency_us"),
            figures.resent_late,
        ),
        measured(of.RESENT_PER_MIN, ("retransmits", "connections_opened"), figures.resent, decides=False),
        measured(of.CONNECTS_PER_REQUEST, ("connections_opened", "requests"), figures.connects),
        answers.SLOW_ANSWERS,
        answers.P99,
    ),
    load=answers.SERVED,
    facts=(
        WatchedFact("tcp.accept_limit", "Accept queue limit", "tcp_servers"),
        WatchedFact("tcp.somaxconn", "net.core.somaxconn", "tcp_servers"),
        WatchedFact("tcp.listeners", "Listening sockets", "tcp_servers"),
        answers.IMAGE,
    ),
)  # fmt: skip
