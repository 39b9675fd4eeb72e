"""What a subject serves, whatever the protocol: queries of its DNS servers and requests of its TCP servers together.

A DNS server's series have their own names (`dns_queries`), a TCP server's others (`requests`): `METRICS` maps them, and
nothing else needs to know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal

import numpy as np

from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.sketch import quantile_us, value_of
from jitterscope.diagnosis.core.snapshot import Distribution, FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray

Figure = Literal["requests", "answers", "slow", "lost", "latency", "latency_max", "inflight", "wait"]
# The names that a DNS server and a TCP server use for the same figure.
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
ENOUGH = 20
# Standard deviations of a count that chance rarely exceeds.
_CHANCE = 3.0
_COUNTED: tuple[Figure, ...] = ("requests", "answers")
# Of all requests, the share whose answer times show that nobody was harmed.
_MOST_TIMED = 0.9
# Of all requests of a cgroup.
_LEAST_SHARE = 0.01
# Of all requests, the share outside the stalls that shows how others fare.
_LEAST_REST = 0.1


@dataclass(frozen=True, slots=True)
class Served:
    """Sums over servers, per tick; NaN where nothing was recorded.

    `slow`: answers over the objective of their server, or over 20 ms if it has none, whatever the baseline. `noun`: the
    plural name of what they receive, `one`: the singular.
    """

    servers: tuple[ResourceView, ...]
    requests: FloatArray
    answers: FloatArray
    slow: FloatArray
    noun: Literal["queries", "requests"]

    @property
    def one(self) -> Literal["query", "request"]:
        return "query" if self.noun == "queries" else "request"

    @property
    def known(self) -> bool:
        """Whether requests were counted."""
        return bool(np.isfinite(self.requests).any())

    @property
    def timed(self) -> bool:
        """Whether there were requests, and their answer times were recorded: otherwise harm is unknown.

        The number of answers over 20 ms does not show whether an objective is met.
        """
        return any(count > 0 and _timed(one) for one, count in self._counts())

    @property
    def all_timed(self) -> bool:
        """The same of nearly all requests: only then no late answer means that nobody was harmed."""
        counts = self._counts()
        return self.timed and sum(n for one, n in counts if _timed(one)) >= _MOST_TIMED * sum(n for _, n in counts)

    def _counts(self) -> list[tuple[ResourceView, float]]:
        ticks = len(self.requests)
        return [(one, float(np.nansum(series(one, metric(one, "requests"), ticks)))) for one in self.servers]


def _timed(server: ResourceView) -> bool:
    return metric(server, "latency") in server.distributions or (
        server.objective is None and (has(server, metric(server, "slow")) or server.queries is not None)
    )


def not_timed(served: Served) -> str:
    """Why the harm of what a subject serves is unknown, as a sentence."""
    if not served.servers:
        why = "no server is known here whose answers could be timed"
    elif not np.nansum(served.requests) > 0:
        why = f"no {served.noun} were seen in this window"
    else:
        why = f"{served.noun} were counted, but not how long their answers took"
    return f"Harm is not measured: {why}."


def metric(server: ResourceView, figure: Figure) -> str:
    """The name of the series or distribution in which such a server records the figure."""
    return METRICS[figure][server.kind]


def metrics(*figures: Figure) -> tuple[str, ...]:
    """The names of the figures for any kind of server."""
    return tuple(name for figure in figures for name in METRICS[figure].values())


@reading
def read_served(snapshot: Snapshot) -> Served:
    """DNS servers first, then those TCP servers that `matter`."""
    dns, tcp = (
        [(server.key, _count(snapshot, server)) for server in servers]
        for servers in (snapshot.dns_servers, snapshot.tcp_servers)
    )
    kept = matter(dns, tcp, of_node=snapshot.subject.kind == "node")
    return _added(snapshot, (*snapshot.dns_servers, *compress(snapshot.tcp_servers, kept)))


def matter(dns: Sequence[tuple[str, float]], tcp: Sequence[tuple[str, float]], *, of_node: bool) -> list[bool]:
    """Which of the TCP servers (key, requests) beside these DNS servers belong to what a subject serves.

    Left out are DNS over TCP, which counts as DNS, and what receives few of a cgroup's requests: a metrics page or a
    health check beside its service.
    """
    dns_ports = {_port(key) for key, _ in dns}
    own = [_port(key) not in dns_ports for key, _ in tcp]
    all_requests = sum(count for _, count in dns) + sum(count for _, count in compress(tcp, own))
    least = 0.0 if of_node else _LEAST_SHARE * all_requests
    return [kept and count >= least for kept, (_, count) in zip(own, tcp, strict=True)]


@reading
def read_dns(snapshot: Snapshot) -> Served:
    """The DNS servers alone."""
    return _added(snapshot, snapshot.dns_servers)


def usual_us(server: ResourceView, calm: BoolArray, q: float = 0.5) -> float | None:
    """Median (or the `q`-quantile) answer time in the ticks `calm`; None with fewer than 20 answers there."""
    part = server.distributions.get(metric(server, "latency"))
    if part is None:
        return None
    chosen = calm[part.tick]
    bucket, count = part.bucket[chosen], part.count[chosen]
    if count.sum() < ENOUGH:
        return None
    order = np.argsort(bucket, kind="stable")
    middle = int(np.searchsorted(np.cumsum(count[order]), count.sum() * q))
    return float(value_of(bucket[order][middle : middle + 1])[0])


def histogram(servers: Sequence[ResourceView]) -> Distribution | None:
    """The answer times of all servers together; None if no histogram was recorded."""
    found = (server.distributions.get(metric(server, "latency")) for server in servers)
    parts = [part for part in found if part is not None]
    if not parts:
        return None
    return Distribution(
        np.concatenate([part.tick for part in parts]),
        np.concatenate([part.bucket for part in parts]),
        np.concatenate([part.count for part in parts]),
    )


def quantiles_ms(snapshot: Snapshot, served: Served) -> tuple[float | None, float | None]:
    """(p50, p99) over all servers: from histograms, else from single requests if all of them were kept."""
    whole = histogram(served.servers)
    if whole is not None:
        p50, p99 = (quantile_us(whole.bucket, whole.count, q) / 1000 for q in (0.5, 0.99))
        return p50 if np.isfinite(p50) else None, p99 if np.isfinite(p99) else None
    complete = [
        server.queries.latency_us
        for server in served.servers
        if server.queries is not None
        and any(low <= snapshot.start_us and high >= snapshot.end_us for low, high in server.queries.complete)
    ]
    if not complete or not sum(map(len, complete)):
        return None, None
    low, high = np.percentile(np.concatenate(complete), [50, 99])
    return float(low) / 1000, float(high) / 1000


def slowest_us(snapshot: Snapshot, served: Served) -> FloatArray:
    """The slowest answer of each tick (µs); NaN where there was none."""
    rows = [series(server, metric(server, "latency_max"), snapshot.ticks) for server in served.servers]
    return np.asarray(np.fmax.reduce(rows)) if rows else np.full(snapshot.ticks, np.nan)


def summed(snapshot: Snapshot, rows: Sequence[FloatArray]) -> FloatArray:
    """Sum per tick; NaN where none has a value."""
    if not rows:
        return np.full(snapshot.ticks, np.nan)
    stack = np.stack(rows)
    return np.where(np.isfinite(stack).any(axis=0), np.nansum(stack, axis=0), np.nan)


def lost(snapshot: Snapshot, server: ResourceView, spans: BoolArray) -> int:
    """Requests of the ticks `spans` that got no answer because of them.

    Many protocols end a connection with a message that expects no answer, and clients disconnect for their own reasons:
    for a TCP server, only those beyond its rate at other times count, and none if that rate is over 1 % of the
    requests.
    """
    values = np.nan_to_num(series(server, metric(server, "lost"), snapshot.ticks))
    if server.kind == "dns_server":
        return int(values[spans].sum())
    requests = np.nan_to_num(series(server, metric(server, "requests"), snapshot.ticks))
    calm = float(requests[~spans].sum())
    if calm < ENOUGH or values[~spans].sum() > 0.01 * calm:
        return 0
    usual = float(values[~spans].sum()) / calm * float(requests[spans].sum())
    return max(0, int(values[spans].sum() - usual))


def beyond_chance(requests: FloatArray, near: BoolArray, inside: float, outside: float) -> float:
    """Of `inside` slow answers in the ticks `near`, those beyond the expected number.

    Expected are as many per request as the `outside` ones: of few requests, as many as these show at least. 0 if chance
    alone explains as many.
    """
    known = np.nan_to_num(requests)
    others = float(known[~near].sum())
    if others < 1:
        return inside
    ratio = min(1.0, outside / others)
    anyway = (ratio if others >= 5 * ENOUGH else _at_least(ratio, others)) * float(known[near].sum())
    return inside - anyway if inside > anyway + _CHANCE * np.sqrt(anyway) else 0.0


def comparable(requests: FloatArray, near: BoolArray) -> bool:
    """Whether enough requests came outside the ticks `near` to show how quickly they are answered otherwise."""
    known = np.nan_to_num(requests)
    others = float(known[~near].sum())
    return others >= 5 * ENOUGH or others >= max(1.0, _LEAST_REST * float(known.sum()))


def _at_least(ratio: float, of: float) -> float:
    """The lower end of the 95 % interval (Wilson) of a ratio that was seen in `of` requests."""
    square = 1.96**2
    spread = 1.96 * np.sqrt(ratio * (1 - ratio) / of + square / (4 * of * of))
    return float(max(0.0, (ratio + square / (2 * of) - spread) / (1 + square / of)))


def _port(key: str) -> str:
    """The port of "10.0.0.10:53", "127.0.0.1:53@net:4026531840", or "/shop/cart:8080"."""
    return key.partition("@net:")[0].rpartition(":")[2]


def _count(snapshot: Snapshot, server: ResourceView) -> float:
    return float(np.nansum(series(server, metric(server, "requests"), snapshot.ticks)))


def _added(snapshot: Snapshot, servers: tuple[ResourceView, ...]) -> Served:
    rows = {
        name: summed(snapshot, [series(server, metric(server, name), snapshot.ticks) for server in servers])
        for name in _COUNTED
    }
    slow = [slow_of(snapshot, one, one.objective.limit_us if one.objective else SLOW_US) for one in servers]
    asked = any(server.kind == "tcp_server" for server in servers)
    noun: Literal["queries", "requests"] = "requests" if asked or not servers else "queries"
    return Served(servers, rows["requests"], rows["answers"], summed(snapshot, slow), noun)


def slow_of(snapshot: Snapshot, server: ResourceView, over_us: float) -> FloatArray:
    """Answers of each tick over `over_us`, from the histograms.

    Without histograms, those over 20 ms; if the server has an objective, that is a different limit, and the number is
    unknown.
    """
    part = server.distributions.get(metric(server, "latency"))
    if over_us == SLOW_US or (part is None and server.objective is None):
        return series(server, metric(server, "slow"), snapshot.ticks)
    if part is None:
        return np.full(snapshot.ticks, np.nan)
    late = value_of(part.bucket) > over_us
    counted = np.bincount(part.tick[late], weights=part.count[late], minlength=snapshot.ticks)[: snapshot.ticks]
    known = np.isfinite(series(server, metric(server, "requests"), snapshot.ticks))
    return np.where(known | (counted > 0), counted, np.nan)
