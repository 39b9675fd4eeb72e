"""What can be switched off, and what is then dropped. An id is a source, or SOURCE:OPTION of its configuration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jitterscope.inventory.types import ResourceKind
from jitterscope.series.catalogue import EVENTS, FACTS, METRICS, Name


@dataclass(frozen=True, slots=True)
class Dropped:
    """What ingest removes from a batch.

    Ids of metrics, names of facts and events, reasons of triggers, and kinds of resources whose single queries are
    dropped. `statuses`: the counts of statuses within events about kinds of requests. `captures`: all of them.
    """

    metrics: frozenset[int] = frozenset()
    facts: frozenset[str] = frozenset()
    events: frozenset[str] = frozenset()
    triggers: frozenset[str] = frozenset()
    queries_of: frozenset[ResourceKind] = frozenset()
    statuses: bool = False
    captures: bool = False

    def __or__(self, other: Dropped) -> Dropped:
        return Dropped(
            self.metrics | other.metrics,
            self.facts | other.facts,
            self.events | other.events,
            self.triggers | other.triggers,
            self.queries_of | other.queries_of,
            self.statuses or other.statuses,
            self.captures or other.captures,
        )


@dataclass(frozen=True, slots=True)
class Switch:
    """`stops` says in one sentence what is no longer read."""

    id: str
    title: str
    stops: str
    dropped: Dropped


def _source(name: str, triggers: Iterable[str] = (), queries_of: Iterable[ResourceKind] = ()) -> Dropped:
    """Everything that a source records according to the catalog."""

    def named(names: Iterable[Name]) -> frozenset[str]:
        return frozenset(one.name for one in names if one.source == name)

    return Dropped(
        frozenset(metric.id for metric in METRICS.values() if metric.source == name),
        named(FACTS.values()),
        named(EVENTS.values()),
        frozenset(triggers),
        frozenset(queries_of),
    )


def _metrics(*names: str) -> frozenset[int]:
    return frozenset(METRICS[name].id for name in names)


_ALL = (
    Switch(
        "tcp_requests",
        "Request timing",
        "Collectors no longer time the requests, calls, and connections of TCP servers other than DNS.",
        _source(
            "tcp_requests",
            ("slow_request", "slower_request", "listen_drop", "retransmission", "slow_handshake"),
            ("tcp_server", "tcp_upstream"),
        ),
    ),
    Switch(
        "tcp_requests:read_kinds",
        "Kinds of requests",
        "Collectors no longer read routes, commands, and statements from the first 64 bytes of unencrypted requests.",
        Dropped(events=frozenset({"requests.kinds"})),
    ),
    Switch(
        "tcp_requests:read_status",
        "HTTP and gRPC statuses",
        "Collectors no longer read the status of unencrypted HTTP answers from their first 12 bytes, or from the "
        "headers and trailers of HTTP/2.",
        Dropped(
            metrics=_metrics(
                "http_responses",
                "http_client_errors",
                "http_server_errors",
                "grpc_responses",
                "grpc_client_errors",
                "grpc_server_errors",
            ),
            statuses=True,
        ),
    ),
    Switch(
        "dns_capture",
        "DNS timing",
        "Collectors no longer capture DNS packets: no times, results, or names of lookups at DNS servers.",
        _source("dns_capture", ("slow_query", "slower_query"), ("dns_server",))
        | _source("dns_names")
        | _source("dns_path_split"),
    ),
    Switch(
        "dns_names",
        "Most looked-up names",
        "Collectors no longer count which names each client looks up; single slow queries keep their names.",
        _source("dns_names"),
    ),
    Switch(
        "dns_errors",
        "Error lines of DNS servers",
        "Collectors no longer read the logs of DNS servers.",
        _source("dns_errors", ("dns_error",)),
    ),
    Switch(
        "flight_recorder",
        "Captures",
        "Collectors no longer sample stacks, list processes, or read what the threads of a silent server wait in.",
        _source("flight_recorder") | Dropped(captures=True),
    ),
)
SWITCHES = {switch.id: switch for switch in _ALL}


def dropped(off: Iterable[str]) -> Dropped:
    """What is removed from a batch if these are off. An id that is no longer a switch drops nothing."""
    found = Dropped()
    for one in off:
        if one in SWITCHES:
            found |= SWITCHES[one].dropped
    return found
