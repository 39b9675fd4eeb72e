"""Measures of answers and workload settings that several areas use to evaluate a fix.

An area lists them among its own in area.py; if it knows more (what counts as a stall), it replaces `read`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jitterscope.diagnosis.core import autoscalers, impact, namespace_limits, qos, served, settings
from jitterscope.diagnosis.core.area import Amounts, Load, WatchedFact, measured
from jitterscope.diagnosis.core.events import runs
from jitterscope.diagnosis.core.landing import Facts
from jitterscope.diagnosis.core.served import Served, metrics, read_dns, read_served
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.slow import slow as slow_of
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray
from jitterscope.diagnosis.core.wording import spelled


def slow_answers(snapshot: Snapshot, calm: BoolArray | None = None) -> Amounts | None:
    """Slow answers and requests of all servers of the subject together; a run of slow ones is one event.

    `calm`: the ticks that define the baseline.
    """
    return _slow(snapshot, read_served(snapshot), calm)


def _slow(snapshot: Snapshot, of: Served, calm: BoolArray | None) -> Amounts | None:
    slow = slow_of(snapshot, of, calm).ticks
    if not (np.isfinite(slow).any() and of.known):
        return None
    return Amounts(slow, of.requests, runs(slow, snapshot.step_us))


def _slow_of_dns(snapshot: Snapshot) -> Amounts | None:
    return _slow(snapshot, read_dns(snapshot), None)


def _p99_ms(snapshot: Snapshot) -> float | None:
    return served.quantiles_ms(snapshot, read_served(snapshot))[1]


def _p99_ms_of_dns(snapshot: Snapshot) -> float | None:
    return served.quantiles_ms(snapshot, read_dns(snapshot))[1]


def _per_second(of: Served, step_us: int) -> FloatArray | None:
    return of.requests * (1e6 / step_us) if of.known else None


def _queries_alone(snapshot: Snapshot) -> FloatArray | None:
    of = read_served(snapshot)
    return _per_second(of, snapshot.step_us) if of.noun == "queries" else None


# For everything that the subject serves, and for its DNS servers alone.
SLOW_ANSWERS = measured(
    impact.SLOW_RATIO,
    metrics("slow", "requests", "latency"),
    slow_answers,
)
SLOW_DNS_ANSWERS = measured(impact.SLOW_RATIO, ("dns_slow", "dns_queries", "dns_latency_us"), _slow_of_dns)
P99 = measured(impact.P99, metrics("latency", "requests"), _p99_ms, decides=False)
DNS_P99 = measured(impact.P99, ("dns_latency_us",), _p99_ms_of_dns, decides=False)
REQUESTS = Load(
    "requests",
    "requests/s",
    metrics("requests"),
    lambda snapshot: _per_second(read_served(snapshot), snapshot.step_us),
)
QUERIES = Load(
    "queries", "queries/s", ("dns_queries",), lambda snapshot: _per_second(read_dns(snapshot), snapshot.step_us)
)
# For any subject: as queries if it serves nothing else. Of a service that also answers some queries, they alone say
# nothing about its load.
SERVED = (replace(QUERIES, read=_queries_alone), REQUESTS)


def bursts(*causes: str) -> tuple[Load, ...]:
    """The same at the height of bursts, for causes whose fault comes with them.

    Where a burst falls on the grid changes the height of its highest tick.
    """
    return tuple(replace(one, id=f"{one.id}_peak", factor=1.5, peak=True, causes=causes) for one in SERVED)


def mebibytes(value: str | None) -> str | None:
    """A number of bytes in human-readable form; None: no limit, or unknown."""
    size = number(value)
    return None if size is None or size < 0 else f"{size / (1 << 20):,.0f} MiB"


def _requested_cpus(value: str | None) -> str | None:
    return f"{cpus:g}" if (cpus := number(value)) else None


def _requested_bytes(value: str | None) -> str | None:
    return mebibytes(value) if number(value) else None


def _image(old: str | None, new: str | None, _: Facts) -> str | None:
    """A digest behind a tag adds nothing, unless it is all that changed."""
    before, after = ((value or "").partition("@")[0] for value in (old, new))
    return settings.versions(before, after, ":") if before != after else settings.versions(old, new, "@")


def _dns_version(old: str | None, new: str | None, facts: Facts) -> str | None:
    software = facts.get("dns.software")
    return None if software is None else settings.changed(spelled(software), old, new)


def _corefile(old: str | None, new: str | None, _: Facts) -> str:
    return settings.changed("Corefile:", old, new)


MEMORY_LIMIT = WatchedFact("memory.limit_bytes", "Memory limit", "subject", mebibytes)
IMAGE = WatchedFact("workload.image", "Image", "subject", said=_image)
DNS_VERSION = WatchedFact("dns.version", "DNS server version", "dns_servers", said=_dns_version)
UDP_SOCKETS = WatchedFact("dns.udp_sockets", "UDP sockets", "dns_servers", listed=False)
# The plugin `reload` looks at the file every 30 s, and up to 15 s later (https://coredns.io/plugins/reload/).
RELOADED_S = 45.0
COREFILE = WatchedFact("dns.corefile", "Corefile", "dns_servers", said=_corefile, effective_s=RELOADED_S)
# A rollout, whatever it changes.
REVISION = WatchedFact(
    "workload.revision", "Pod template", "subject", said=lambda *_: "New pod template", of_workload=True
)
# What can change in any workload, and what pods report about themselves.
LISTED = (
    IMAGE,
    WatchedFact("workload.version", "Version", "subject"),
    WatchedFact("workload.chart", "Helm chart", "subject"),
    WatchedFact("workload.restarted_at", "Restart", "subject", said=lambda *_: "Rolling restart"),
    WatchedFact("workload.requested_cpus", "CPU request", "subject", _requested_cpus, unit="CPU"),
    WatchedFact("workload.requested_bytes", "Memory request", "subject", _requested_bytes),
    WatchedFact(qos.FACT, "QoS class", "subject"),
    REVISION,
    *autoscalers.WATCHED,
    *namespace_limits.WATCHED,
)
