"""Figures of a DNS server's answers, and settings of a workload, that several areas measure a fix by.

An area puts them among its own in area.py; where it knows more (what a stall is), it replaces `read`.
"""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.core import impact
from jitterscope.diagnosis.core.area import Amounts, Load, WatchedFact, measured
from jitterscope.diagnosis.core.events import runs
from jitterscope.diagnosis.core.harm import quantiles_ms
from jitterscope.diagnosis.core.signals import number, read_dns
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot


def slow_answers(snapshot: Snapshot) -> Amounts | None:
    """Answers over 20 ms and queries, all DNS servers of the subject together; a run of slow ones is one event."""
    dns = read_dns(snapshot)
    if not (np.isfinite(dns.slow).any() and np.isfinite(dns.queries).any()):
        return None
    return Amounts(dns.slow, dns.queries, runs(dns.slow, snapshot.step_us))


def _p99_ms(snapshot: Snapshot) -> float | None:
    return quantiles_ms(snapshot)[1]


def _queries(snapshot: Snapshot) -> FloatArray | None:
    queries = read_dns(snapshot).queries
    return queries * (1e6 / snapshot.step_us) if np.isfinite(queries).any() else None


SLOW_ANSWERS = measured(impact.SLOW_RATIO, ("dns_slow", "dns_queries"), slow_answers)
P99 = measured(impact.P99, ("dns_latency_us",), _p99_ms, decides=False)
QUERIES = Load("queries", "queries/s", ("dns_queries",), _queries)


def mebibytes(value: str | None) -> str | None:
    """A number of bytes as people write it; None: no limit, or not known."""
    size = number(value)
    return None if size is None or size < 0 else f"{size / (1 << 20):,.0f} MiB"


MEMORY_LIMIT = WatchedFact("memory.limit_bytes", "Memory limit", "subject", mebibytes)
IMAGE = WatchedFact("workload.image", "Image", "subject")
DNS_VERSION = WatchedFact("dns.version", "DNS server version", "dns_servers")
UDP_SOCKETS = WatchedFact("dns.udp_sockets", "UDP sockets", "dns_servers")
COREFILE = WatchedFact("dns.corefile", "Corefile", "dns_servers")
