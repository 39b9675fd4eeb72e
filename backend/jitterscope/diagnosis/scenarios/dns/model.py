"""The parts of a simulated chain of DNS servers: servers, how they forward, names, clients, and their load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from jitterscope.diagnosis.core.query_results import NOERROR


@dataclass(frozen=True, slots=True)
class Forward:
    """How a hop queries the next one. `loss_ratio` of its datagrams are lost in each direction.

    `clean_s`: how often a CoreDNS looks for idle connections older than `expire_s`: every 10 s since 1.7.1, before that
    every `expire_s`. `pool`: the newest idle connection is used first; since 1.14.1 the oldest.
    """

    transport: Literal["udp", "tcp"] = "udp"
    force_tcp: bool = False
    prefer_udp: bool = False
    expire_s: float = 10.0
    clean_s: float = 10.0
    pool: Literal["lifo", "fifo"] = "lifo"
    attempt_s: float = 2.0
    deadline_s: float = 5.0
    loss_ratio: float = 0.0
    max_concurrent: int | None = None
    zone: str = "."


@dataclass(frozen=True, slots=True)
class Hop:
    """One server. The last hop answers after `delay_us`; the others forward what is not in their cache.

    `read_us` is the serial time that one socket needs for each query, `work_us` is spent in parallel. `delays` are
    (start_s, seconds, delay_us) in which the delay differs; the last hop's cache hits have no delay. Above
    `answers_per_s` the last hop treats queries according to `over`; `by_second`: counted anew each second, like
    unbound. In `stops` (start_s, seconds) it reads nothing at all. `captured`: on the node of the collector;
    `loss_ratio` of the datagrams to it are dropped after the capture point.
    """

    software: str
    address: str
    version: str = ""
    read_us: float = 20.0
    work_us: float = 120.0
    sockets: int = 1
    buffer_queries: int = 250
    cache_ratio: float = 0.0
    negative_cache_ratio: float = 0.0
    child_limit: int | None = None
    listen_backlog: int = 32
    delay_us: float = 500.0
    delays: tuple[tuple[float, float, float], ...] = ()
    stops: tuple[tuple[float, float], ...] = ()
    # share of answers that take `tail_us` instead
    tail_ratio: float = 0.0
    tail_us: float = 0.0
    answers_per_s: float | None = None
    over: Literal["drop", "refused", "servfail"] = "drop"
    by_second: bool = False
    loss_ratio: float = 0.0
    forward: Forward | None = None
    captured: bool = True
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Name:
    """A name that clients query with `share` of all queries (shares need not add up to 1: they are weights)."""

    name: str
    share: float = 1.0
    type: str = "A"
    result: int = NOERROR
    client: str = ""


@dataclass(frozen=True, slots=True)
class DnsLoad:
    """Parameters of a run: clients query `hops[0]`, which queries `hops[1]`, and so on. `subject` is the diagnosed hop.

    `bursts` are (start_s, seconds, qps) of another rate; `volleys` (every_s, queries) sent at once. `evenness` 1:
    queries evenly spaced, 0: Poisson. `client_loss_ratio` of the clients' datagrams are lost (each way).
    """

    hops: tuple[Hop, ...]
    subject: int = 0
    seconds: float = 20.0
    qps: float = 300.0
    bursts: tuple[tuple[float, float, float], ...] = ()
    volleys: tuple[float, int] | None = None
    evenness: float = 0.8
    names: tuple[Name, ...] = (Name("api.example.com."),)
    clients: tuple[str, ...] = ("10.0.0.83", "10.0.0.84", "10.0.0.85")
    client_loss_ratio: float = 0.0
    client_timeout_s: float = 5.0
    client_attempts: int = 2
    seed: int = 1
    node_facts: Mapping[str, str] = field(default_factory=dict)
    subject_facts: Mapping[str, str] = field(default_factory=dict)
    # facts of cgroups of the node, by cgroup key
    workloads: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
