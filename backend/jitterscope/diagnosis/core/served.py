"""What a subject serves, whatever the protocol: queries of its DNS servers and requests of its TCP servers together.

A DNS server's series have names of their own (`dns_queries`), a TCP server's others (`requests`): `METRICS` says which is
which, and nothing else needs to know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot

Figure = Literal["requests", "answers", "slow", "lost", "latency", "latency_max", "inflight", "wait"]
# What a DNS server and a TCP server call the same thing.
METRICS: dict[Figure, dict[str, str]] = {
    "requests": {"dns_server": "dns_queries", "tcp_server": "requests"},
    "answers": {"dns_server": "dns_answers", "tcp_server": "responses"},
    "slow": {"dns_server": "dns_slow", "tcp_server": "responses_slow"},
    "lost": {"dns_server": "dns_timeouts", "tcp_server": "requests_unanswered"},
    "latency": {"dns_server": "dns_latency_us", "tcp_server": "request_latency_us"},
    "latency_max": {"dns_server": "dns_latency_max_us", "tcp_server": "request_latency_max_us"},
    "inflight": {"dns_server": "dns_inflight", "tcp_server": "requests_inflight"},
    "wait": {"dns_server": "dns_queue_wait_us", "tcp_server": "request_wait_us"},
}


@dataclass(frozen=True, slots=True)
class Served:
    """All servers of the subject added up, per tick; NaN where nothing was recorded. `noun`: what they are asked with."""

    servers: tuple[ResourceView, ...]
    requests: FloatArray
    answers: FloatArray
    slow: FloatArray
    noun: Literal["queries", "requests"]


def metric(server: ResourceView, figure: Figure) -> str:
    """The name of the series or distribution in which such a server records it."""
    return METRICS[figure][server.kind]


@reading
def read_served(snapshot: Snapshot) -> Served:
    """DNS servers first, then TCP servers."""
    servers = (*snapshot.dns_servers, *snapshot.tcp_servers)
    rows = {figure: _summed(snapshot, servers, figure) for figure in ("requests", "answers", "slow")}
    of_dns = not snapshot.tcp_servers or bool(np.nansum(_summed(snapshot, snapshot.dns_servers, "requests")) > 0)
    return Served(servers, rows["requests"], rows["answers"], rows["slow"], "queries" if of_dns else "requests")


def _summed(snapshot: Snapshot, servers: tuple[ResourceView, ...], figure: Figure) -> FloatArray:
    rows = [series(server, metric(server, figure), snapshot.ticks) for server in servers]
    if not rows:
        return np.full(snapshot.ticks, np.nan)
    stack = np.stack(rows)
    return np.where(np.isfinite(stack).any(axis=0), np.nansum(stack, axis=0), np.nan)
