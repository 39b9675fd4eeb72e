"""NXDOMAIN queries that a negative cache would have answered: repeats of a name and type, by any client."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jitterscope.diagnosis.areas.dns.readings.names import NameRow, NameSpan, of
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import corefile
from jitterscope.diagnosis.programs.dns_upstreams import upstreams
from jitterscope.diagnosis.programs.resolv_conf import normal

# Minimum time that a cache keeps a negative answer: CoreDNS 5 s (cache MINTTL); the usual setting in clusters is 30 s.
SHORT_TTL_S, USUAL_TTL_S = 5.0, 30.0
_HOLDERS = frozenset({"kubernetes", "file", "auto", "template", "hosts"})


@dataclass(frozen=True, slots=True)
class Denials:
    """A cache of 5 s would have answered `repeated_short` of `total` NXDOMAIN queries, one of 30 s `repeated`.

    Names that are not listed are included as far as they have more NXDOMAIN answers than names. `names` are the most
    frequent ones, with their counts. `slow` of the listed ones waited over 20 ms (the median over spans).
    """

    total: int
    repeated_short: int
    repeated: int
    slow: int
    worst_us: float
    mean_us: float
    names: tuple[tuple[str, int], ...]


@reading
def denials(snapshot: Snapshot) -> Denials:
    """The NXDOMAIN queries of the subject's servers."""
    return measure(snapshot.dns_servers, of(snapshot))


def measure(servers: Iterable[ResourceView], spans: Sequence[NameSpan]) -> Denials:
    """The NXDOMAIN queries for names that these servers must forward."""
    zones = [_zones(server) for server in servers]
    total = short = usual = 0.0
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    counts: dict[tuple[str, str], int] = defaultdict(int)
    kept_until: dict[tuple[int, str, str], float] = {}
    for span in spans:
        begin, length = span.start_us / 1e6, max(span.duration_us, 1) / 1e6
        kept = [row for row in span.rows if row.nxdomain and any(_sent_on(row.name, *pair) for pair in zones)]
        for row in kept:
            key = (row.name, row.type)
            counts[key] += row.nxdomain
            times[key].append(row.mean_us)
            short += max(0, row.nxdomain - math.ceil(length / SHORT_TTL_S))
            fresh = begin >= kept_until.get((span.server_id, *key), -math.inf)
            if fresh:
                kept_until[(span.server_id, *key)] = begin + USUAL_TTL_S
            usual += row.nxdomain - fresh
        rest, asked_once = _not_listed(span, kept)
        total += sum(row.nxdomain for row in kept) + rest
        short += max(0.0, rest - asked_once * math.ceil(length / SHORT_TTL_S))
        usual += max(0.0, rest - asked_once)
    typical = {key: statistics.median(values) for key, values in times.items()}
    slow = [key for key, value in typical.items() if value > SLOW_US]
    by_name: dict[str, int] = defaultdict(int)
    for (name, _), count in counts.items():
        by_name[name] += count
    listed = sum(counts.values())
    return Denials(
        total=round(total),
        repeated_short=round(short),
        repeated=round(max(short, usual)),
        slow=sum(counts[key] for key in slow),
        worst_us=max((typical[key] for key in slow), default=0.0),
        mean_us=sum(typical[key] * counts[key] for key in counts) / listed if listed else 0.0,
        names=tuple(sorted(by_name.items(), key=lambda item: (-item[1], item[0]))[:3]),
    )


def _not_listed(span: NameSpan, kept: Sequence[NameRow]) -> tuple[float, float]:
    """(NXDOMAIN queries without a row, how many of them are the first of their name and type)."""
    denied = sum(row.nxdomain for row in span.rows)
    if span.whole or not kept or not denied:
        return 0.0, 0.0
    share = sum(row.nxdomain for row in kept) / denied
    names = max(0, span.names - len({row.name for row in span.rows}))
    types = len(kept) / len({row.name for row in kept})
    return share * (span.nxdomain - denied), share * types * names


def _zones(server: ResourceView) -> tuple[list[str], list[str]]:
    """(zones that a server forwards, zones that it answers itself, as CoreDNS does for the cluster's)."""
    held = [
        normal(zone)
        for block in corefile.of(server)
        for plugin in block.plugins
        if plugin.name in _HOLDERS
        for zone in plugin.arguments
        if "/" not in zone
    ]
    return [upstream.zone for upstream in upstreams(server)], held


def _sent_on(name: str, forwarded: Sequence[str], held: Sequence[str]) -> bool:
    return any(_within(name, zone) for zone in forwarded) and not any(_within(name, zone) for zone in held)


def _within(name: str, zone: str) -> bool:
    return zone == "." or name == zone or name.endswith("." + zone)
