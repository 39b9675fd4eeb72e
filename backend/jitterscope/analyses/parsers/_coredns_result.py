"""The state of a CoreDNS log while it is read, and its conclusions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from jitterscope.analyses import timeline, views
from jitterscope.analyses.names import Names
from jitterscope.analyses.parser import Parsed
from jitterscope.analyses.report import Chart, Fact, Table
from jitterscope.analyses.timeline import Timeline
from jitterscope.analyses.wording import clock, duration, plural, share
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.snapshot import Event, Snapshot

_TITLES = {
    "io_timeout": "upstream timed out (i/o timeout)",
    "connection_refused": "connection refused",
    "unreachable": "upstream unreachable",
    "too_many_connections": "too many connections",
    "panic": "panic",
    "other": "other errors",
}
_MOST_EVENTS = 5000
_MOST_ROWS = 5000
_MOST_LATENCIES = 500_000
_SHOWN = 30


@dataclass(slots=True)
class State:
    version: str | None = None
    first_us: int | None = None
    last_us: int | None = None
    kinds: dict[str, int] = field(default_factory=dict)
    protocols: dict[str, int] = field(default_factory=dict)
    # (kind, upstream, name, type) → how often
    rows: dict[tuple[str, str, str, str], int] = field(default_factory=dict)
    upstreams: dict[str, int] = field(default_factory=dict)
    # One event per second and kind, like the collector's: (second, kind) → [count, upstream, name, line]
    events: dict[tuple[int, str], tuple[int, str, str, str]] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    line: Timeline = field(default_factory=Timeline)
    latencies_us: list[float] = field(default_factory=list)
    example: str = ""

    def seen(self, at_us: int | None) -> None:
        if at_us is not None:
            self.first_us = at_us if self.first_us is None else min(self.first_us, at_us)
            self.last_us = at_us if self.last_us is None else max(self.last_us, at_us)

    def error(
        self, kind: str, name: str, type: str, upstream: str, protocol: str, line: str, at_us: int | None
    ) -> None:
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        self.example = self.example or line[:500]
        if protocol:
            self.protocols[protocol] = self.protocols.get(protocol, 0) + 1
        if upstream and (upstream in self.upstreams or len(self.upstreams) < 256):
            self.upstreams[upstream] = self.upstreams.get(upstream, 0) + 1
        key = (kind, upstream, name.rstrip(".") or "", type)
        if key in self.rows or len(self.rows) < _MOST_ROWS:
            self.rows[key] = self.rows.get(key, 0) + 1
        if at_us is None:
            return
        self.line.add(f"error_{kind}", at_us)
        second = (at_us // 1_000_000, kind)
        count, *first = self.events.get(second, (0, upstream, name, line[:500]))
        if second in self.events or len(self.events) < _MOST_EVENTS:
            self.events[second] = (count + 1, first[0], first[1], first[2])

    def query(self, client: str, name: str, type: str, rcode: str, took_us: float, at_us: int | None) -> None:
        self.names.add(client, name, type, rcode, took_us)
        if len(self.latencies_us) < _MOST_LATENCIES:
            self.latencies_us.append(took_us)
        if at_us is None:
            return
        self.line.add("queries", at_us)
        self.line.add("answers", at_us)
        self.line.spread("latency", at_us, took_us)
        self.line.highest("latency", at_us, took_us)
        if took_us > SLOW_US:
            self.line.add("slow", at_us)
        if rcode in ("NXDOMAIN", "SERVFAIL", "REFUSED"):
            self.line.add(rcode.lower(), at_us)


def conclude(state: State) -> Parsed:
    """Facts, charts, tables, and a snapshot of one CoreDNS."""
    errors = sum(state.kinds.values())
    facts = [_errors(state, errors)]
    if state.upstreams:
        ranked = sorted(state.upstreams.items(), key=lambda item: (-item[1], item[0]))
        through = ", ".join(sorted(state.protocols))
        facts.append(
            Fact(
                id="upstreams",
                label="Upstreams that failed",
                value=", ".join(f"{address} ({count:,})" for address, count in ranked[:6]),
                level="attention",
                detail=f"Over {through}." if through else None,
                numbers=dict(ranked[:20]),
            )
        )
    if state.latencies_us:
        facts.append(_latency(state))
    if state.version is not None:
        facts.append(Fact(id="version", label="CoreDNS version", value=state.version))
    tables = [_error_table(state)] if errors else []
    if state.names.queries:
        tables.append(state.names.table())
    says = [plural(errors, "error")] if errors or not state.names.queries else []
    if state.names.queries:
        says.append(plural(state.names.queries, "query", "queries"))
    timed = state.line.ticks > 0
    return Parsed(
        summary=f"CoreDNS log with {' and '.join(says)}",
        facts=facts,
        charts=_charts(state),
        tables=tables,
        notes=[]
        if timed
        else ["The lines have no time (kubectl logs --timestamps adds it), so when they were logged is unknown."],
        snapshots=(_snapshot(state),) if timed else (),
        areas=("dns",),
        from_us=state.first_us,
        to_us=state.last_us,
    )


def _errors(state: State, errors: int) -> Fact:
    listed = sorted(state.kinds.items(), key=lambda item: (-item[1], item[0]))
    first = min((second for second, _ in state.events), default=None)
    return Fact(
        id="errors",
        label="Errors",
        value=", ".join(f"{count:,} × {_TITLES[kind]}" for kind, count in listed) or "none",
        level="attention" if errors else "info",
        detail=(f"First at {clock(first * 1_000_000)} UTC: " if first is not None else "") + state.example or None,
        numbers={"errors": errors} | dict(listed),
    )


def _latency(state: State) -> Fact:
    p50, p99, most = (float(value) for value in np.quantile(state.latencies_us, [0.5, 0.99, 1.0]))
    total = state.names.queries
    return Fact(
        id="durations",
        label="Latency",
        value=f"median {duration(p50)}, p99 {duration(p99)}, slowest {duration(most)}",
        detail=f"{plural(total, 'query', 'queries')}; NXDOMAIN {share(state.names.nxdomain, total)}, "
        f"SERVFAIL {share(state.names.servfail, total)}.",
        numbers={
            "queries": total, "nxdomain": state.names.nxdomain, "servfail": state.names.servfail,
            "p50_us": p50, "p99_us": p99, "max_us": most,
        },
    )  # fmt: skip


def _error_table(state: State) -> Table:
    ranked = sorted(state.rows.items(), key=lambda item: (-item[1], item[0]))
    rows: list[list[str | float | None]] = [
        [_TITLES[kind], upstream or None, name or None, type or None, float(count)]
        for (kind, upstream, name, type), count in ranked[:_SHOWN]
    ]
    columns = ["error", "upstream", "name", "type", "lines"]
    left_out = max(0, len(ranked) - _SHOWN)
    return Table(id="errors", title="Errors by upstream and name", columns=columns, rows=rows, left_out=left_out)


def _charts(state: State) -> list[Chart]:
    line = state.line
    if line.start_us is None or line.ticks < 2:
        return []
    start, step = line.start_us, timeline.TICK_US
    charts = []
    if state.kinds:
        errors = {kind.replace("_", " "): line.counts(f"error_{kind}") for kind in sorted(state.kinds)}
        charts.append(timeline.chart("errors", "Errors", "1/s", start, step, errors, per_second=True))
    if state.names.queries:
        lines = {name: line.counts(key) for name, key in (("queries", "queries"), ("NXDOMAIN", "nxdomain"))}
        charts.append(timeline.chart("rate", "Queries", "1/s", start, step, lines, per_second=True))
        charts.append(
            timeline.chart("latency", "Slowest answer", "us", start, step, {"slowest": line.gauges("latency")})
        )
    return charts


def _snapshot(state: State) -> Snapshot:
    line = state.line
    start, ticks = line.start_us or 0, line.ticks
    events = [
        Event(
            "dns.error", second * 1_000_000, 1_000_000,
            {"kind": kind, "count": str(count), "upstream": upstream, "name": name, "line": text},
        )
        for (second, kind), (count, upstream, name, text) in sorted(state.events.items())
    ]  # fmt: skip
    series = {}
    if state.names.queries:
        events.append(state.names.event(start, ticks * timeline.TICK_US))
        counted = ("queries", "answers", "nxdomain", "servfail", "refused", "slow")
        series = {f"dns_{name}": line.counts(name) for name in counted}
        series["dns_latency_max_us"] = line.gauges("latency")
    facts = {"dns.software": "coredns", "dns.version": state.version}
    server = views.view(
        views.SERVER, "dns_server", "coredns", series=series, facts=facts, since_us=start, events=events,
        distributions={"dns_latency_us": line.distribution("latency")},
    )  # fmt: skip
    return views.snapshot(start, ticks, "coredns", dns_servers=[server])
