"""Reads `dns.names` events: which client queried a server for which names, how often, and with what result.

The collector keeps a bounded table of the most queried names in a span of up to 10 s, and an event has room for about
50 rows of it (contracts/metrics.toml); `queries`, `nxdomain`, and `names` of an event are totals that include what is
not listed.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jitterscope.diagnosis.core.query_results import GIVEN_UP_US
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.snapshot import Event, ResourceView, Snapshot
from jitterscope.diagnosis.programs.resolv_conf import normal

KIND = "dns.names"
# A mean time can be slightly lower than the time after which queries time out.
_NEARLY_GIVEN_UP_US = 0.9 * GIVEN_UP_US
# From this share of the queries on, the rows count as complete.
WHOLE = 0.98


@dataclass(frozen=True, slots=True)
class NameRow:
    """One (client, name, type), summed over spans. `name` is lower case without the trailing dot.

    `nxdomain` and `servfail` are included in `queries`; `latency_sum_us` is the total time of all of them.
    """

    client: str
    name: str
    type: str
    queries: int
    nxdomain: int
    servfail: int
    latency_sum_us: float

    @property
    def answered(self) -> int:
        """Queries that the server answered with data, or with "no such type" (NOERROR)."""
        rest = max(0, self.queries - self.nxdomain - self.servfail)
        # With this much total time, the rest was given up, even if it is one query beside many NXDOMAIN answers.
        return 0 if self.latency_sum_us >= _NEARLY_GIVEN_UP_US * max(1, rest) else rest

    @property
    def mean_us(self) -> float:
        return self.latency_sum_us / self.queries if self.queries else 0.0


@dataclass(frozen=True, slots=True)
class NameSpan:
    """One event: rows of [start_us, start_us + duration_us) and the totals of everything asked in it."""

    server_id: int
    start_us: int
    duration_us: int
    rows: tuple[NameRow, ...]
    queries: int
    nxdomain: int
    names: int

    @property
    def end_us(self) -> int:
        return self.start_us + self.duration_us

    @property
    def whole(self) -> bool:
        """Whether all names are listed."""
        return sum(row.queries for row in self.rows) >= WHOLE * self.queries


def spans(views: Iterable[ResourceView]) -> list[NameSpan]:
    """Every readable event of these servers, in time order. Unreadable rows are skipped."""
    found = [span for view in views for event in view.events if (span := _span(view.id, event)) is not None]
    return sorted(found, key=lambda span: (span.start_us, span.server_id))


@reading
def of(snapshot: Snapshot) -> list[NameSpan]:
    """The spans of the subject's own servers that overlap the window."""
    return [
        span
        for span in spans(snapshot.dns_servers)
        if span.end_us > snapshot.start_us and span.start_us < snapshot.end_us
    ]


def merged(parts: Iterable[NameSpan]) -> list[NameRow]:
    """The rows of several spans, summed by (client, name, type); most queries first."""
    sums: dict[tuple[str, str, str], list[float]] = {}
    for span in parts:
        for row in span.rows:
            entry = sums.setdefault((row.client, row.name, row.type), [0, 0, 0, 0.0])
            entry[0] += row.queries
            entry[1] += row.nxdomain
            entry[2] += row.servfail
            entry[3] += row.latency_sum_us
    rows = [NameRow(*key, int(v[0]), int(v[1]), int(v[2]), v[3]) for key, v in sums.items()]
    return sorted(rows, key=lambda row: (-row.queries, row.client, row.name, row.type))


def typical(parts: Sequence[NameSpan]) -> list[NameRow]:
    """Like `merged`, but estimates the rows as if none had been omitted, and without outliers.

    A row's share of the queries in the spans that list it (or that list everything, so that its absence is known) is
    taken as its share of all: rows of one lookup are then in proportion whichever spans list them, as the load of spans
    differs but not the queries per lookup. Latency and share of SERVFAIL are medians over spans, so that a single stall
    does not determine them.
    """
    asked: dict[int, int] = {}
    complete: dict[int, int] = {}
    listed: dict[tuple[int, str, str, str], list[tuple[NameRow, NameSpan]]] = {}
    for span in parts:
        asked[span.server_id] = asked.get(span.server_id, 0) + span.queries
        complete[span.server_id] = complete.get(span.server_id, 0) + (span.queries if span.whole else 0)
        for row in span.rows:
            listed.setdefault((span.server_id, row.client, row.name, row.type), []).append((row, span))
    found: dict[tuple[str, str, str], list[float]] = {}
    for (server, *key), items in listed.items():
        scale = asked[server] / (complete[server] + sum(span.queries for _, span in items if not span.whole))
        queries = scale * sum(row.queries for row, _ in items)
        nxdomain = scale * sum(row.nxdomain for row, _ in items)
        servfail = queries * statistics.median(row.servfail / row.queries for row, _ in items)
        took = queries * statistics.median(row.mean_us for row, _ in items)
        entry = found.setdefault((key[0], key[1], key[2]), [0.0, 0.0, 0.0, 0.0])
        for place, value in enumerate((queries, nxdomain, servfail, took)):
            entry[place] += value
    rows = [NameRow(*key, round(v[0]), round(v[1]), round(v[2]), v[3]) for key, v in found.items()]
    return sorted(rows, key=lambda row: (-row.queries, row.client, row.name, row.type))


def total_queries(parts: Iterable[NameSpan]) -> int:
    return sum(span.queries for span in parts)


def total_seconds(parts: Iterable[NameSpan]) -> float:
    """Seconds that the spans cover; parts of several servers over the same time count once."""
    covered, end = 0, -(1 << 62)
    for span in sorted(parts, key=lambda span: span.start_us):
        covered += max(0, span.end_us - max(span.start_us, end))
        end = max(end, span.end_us)
    return covered / 1e6


def _span(server_id: int, event: Event) -> NameSpan | None:
    if event.kind != KIND:
        return None
    try:
        listed = json.loads(event.attributes.get("rows", ""))
    except ValueError:
        return None
    if not isinstance(listed, list):
        return None
    rows = tuple(row for item in listed if (row := _row(item)) is not None)
    queries = max(_count(event.attributes.get("queries")), sum(row.queries for row in rows))
    nxdomain = max(_count(event.attributes.get("nxdomain")), sum(row.nxdomain for row in rows))
    names = max(_count(event.attributes.get("names")), len({row.name for row in rows}))
    return NameSpan(server_id, event.start_us, event.duration_us, rows, queries, nxdomain, names)


def _row(item: object) -> NameRow | None:
    match item:
        case [str(client), str(name), str(kind), int(queries), int(nxdomain), int(servfail), int() | float() as took]:
            if queries <= 0 or min(nxdomain, servfail) < 0 or not math.isfinite(took):
                return None
            return NameRow(client, normal(name), kind.upper(), queries, nxdomain, servfail, max(0.0, float(took)))
    return None


def _count(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else 0
