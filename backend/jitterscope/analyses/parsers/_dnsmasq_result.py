"""Conclusions from a dnsmasq log, once it is read."""

from __future__ import annotations

import numpy as np

from jitterscope.analyses import timeline, views
from jitterscope.analyses.parser import Parsed
from jitterscope.analyses.parsers._dnsmasq_sessions import Sessions, sessions_of
from jitterscope.analyses.parsers._dnsmasq_state import State
from jitterscope.analyses.report import Chart, Fact, Table
from jitterscope.analyses.wording import duration, plural
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot

_SHOWN = 30


def conclude(state: State) -> Parsed:
    """Facts, charts, tables, and a snapshot of one dnsmasq."""
    sessions = sessions_of(state)
    answers = sum(state.results.values())
    facts = [
        Fact(
            id="answers",
            label="Answered requests",
            value=f"{answers:,}",
            detail=", ".join(f"{count:,} {name}" for name, count in _sorted(state.results)) or None,
            numbers={"answers": answers, "unanswered": state.still_open}
            | {name.lower(): count for name, count in state.results.items()},
        )
    ]
    whole = _column(state, 0)
    if len(whole):
        facts.append(_spread("durations", "Requests, from query to answer", whole))
    upstream = _column(state, 2)
    if len(upstream):
        facts.append(_spread("upstream", "Of that, at dnsmasq's upstream", upstream))
    facts += sessions.facts()
    facts += _settings(state)
    if state.full_queries or state.full_tcp:
        facts.append(
            Fact(
                id="limits",
                label="dnsmasq reached a limit",
                value=plural(state.full_queries + state.full_tcp, "time"),
                level="attention",
                detail="Concurrent queries (--dns-forward-max)" if state.full_queries else "TCP connections",
                numbers={"queries": state.full_queries, "tcp": state.full_tcp},
            )
        )
    return Parsed(
        summary=_summary(answers, whole, sessions),
        facts=facts,
        charts=_charts(state, sessions),
        tables=[*_slowest(state), *sessions.tables(), state.names.table()],
        notes=_notes(state, sessions),
        snapshots=(_snapshot(state, sessions),) if state.line.ticks else (),
        areas=("dns",),
        from_us=state.first_us,
        to_us=state.last_us,
    )


def _sorted(counts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _column(state: State, index: int) -> FloatArray:
    return np.array([row[index] for row in state.requests if row[index] is not None], dtype=np.float64)


def _spread(id: str, label: str, took_us: FloatArray) -> Fact:
    p50, p99, most = (float(value) for value in np.quantile(took_us, [0.5, 0.99, 1.0]))
    return Fact(
        id=id,
        label=label,
        value=f"median {duration(p50)}, p99 {duration(p99)}, slowest {duration(most)}",
        detail=f"{plural(len(took_us), 'request')}.",
        numbers={"count": len(took_us), "p50_us": p50, "p99_us": p99, "max_us": most},
    )


def _settings(state: State) -> list[Fact]:
    facts = []
    if state.upstreams:
        rows = _sorted(state.upstreams)
        facts.append(
            Fact(
                id="upstreams",
                label="Forwards to",
                value=", ".join(f"{server} ({count:,})" for server, count in rows[:6]),
                numbers=dict(rows[:20]),
            )
        )
    if state.version is not None:
        facts.append(Fact(id="version", label="dnsmasq version", value=state.version))
    if state.arguments is not None:
        no_cache = "--no-negcache" in state.arguments.split()
        facts.append(
            Fact(
                id="negative_cache",
                label="Caches negative answers",
                value="no (--no-negcache)" if no_cache else "yes",
                level="attention" if no_cache else "info",
                detail=state.arguments,
            )
        )
    return facts


def _summary(answers: int, whole: FloatArray, sessions: Sessions) -> str:
    parts = [f"{plural(answers, 'answered request')} of dnsmasq"]
    if len(whole):
        parts.append(f"slowest {duration(float(whole.max()))}")
    if sessions.count:
        parts.append(f"{plural(sessions.count, 'TCP session')}, up to {sessions.most_at_once} at once")
    return "; ".join(parts)


def _charts(state: State, sessions: Sessions) -> list[Chart]:
    line = state.line
    if line.start_us is None or line.ticks < 2:
        return []
    charts = [
        timeline.chart(
            "rate", "Requests", "1/s", line.start_us, timeline.TICK_US,
            {"queries": line.counts("queries"), "NXDOMAIN": line.counts("nxdomain")}, per_second=True,
        )
    ]  # fmt: skip
    latency = line.gauges("latency")
    if np.isfinite(latency).any():
        charts.append(
            timeline.chart("latency", "Slowest request", "us", line.start_us, timeline.TICK_US, {"slowest": latency})
        )
    return charts + sessions.charts(line.start_us, line.ticks)


def _slowest(state: State) -> list[Table]:
    timed = sorted((row for row in state.requests if row[0] is not None), key=lambda row: -(row[0] or 0))
    if not timed:
        return []
    rows: list[list[str | float | None]] = [
        [name, str(pid), _ms(whole), _ms(own), _ms(upstream)] for whole, own, upstream, name, pid, _ in timed[:_SHOWN]
    ]
    columns = ["name", "PID", "duration (ms)", "before forwarding (ms)", "at the upstream (ms)"]
    left_out = max(0, len(timed) - _SHOWN)
    return [Table(id="requests", title="Slowest requests", columns=columns, rows=rows, left_out=left_out)]


def _ms(us: int | None) -> float | None:
    return None if us is None else round(us / 1000, 3)


def _notes(state: State, sessions: Sessions) -> list[str]:
    notes = []
    if not state.exact:
        notes.append(
            "Times are whole seconds or missing, so durations are not known. dnsmasq writes none to stderr; the "
            "kubelet, Docker and kube-dns's nanny add exact ones (kubectl logs --timestamps)."
        )
    if state.still_open:
        notes.append(f"{plural(state.still_open, 'request')} unanswered in the file.")
    if not sessions.known:
        notes.append("Without --log-queries=extra a line does not name its request and connection.")
    notes.append(
        "dnsmasq logs a request when a process has read it: the wait for a process is not in the log. "
        "A capture, or the collector's accept queue, shows it."
    )
    if state.line.left_out:
        notes.append("Charts and findings cover the first hour, facts the whole file.")
    if state.requests_left_out:
        notes.append(f"Durations are those of the first {plural(len(state.requests), 'request')}.")
    return notes


def _snapshot(state: State, sessions: Sessions) -> Snapshot:
    line = state.line
    start, ticks = line.start_us or 0, line.ticks
    arguments = state.arguments
    facts = {
        "dns.software": "dnsmasq",
        "dns.version": state.version,
        "dns.arguments": arguments,
        "dns.negative_cache": None if arguments is None else "no" if "--no-negcache" in arguments.split() else "yes",
    }
    series = {
        "dns_queries": line.counts("queries"),
        "dns_answers": line.counts("answers"),
        "dns_nxdomain": line.counts("nxdomain"),
        "dns_servfail": line.counts("servfail"),
        "dns_refused": line.counts("refused"),
    }
    if state.exact:
        series |= {"dns_slow": line.counts("slow"), "dns_latency_max_us": line.gauges("latency")}
    server = views.view(
        views.SERVER, "dns_server", "dnsmasq", series=series, facts=facts, since_us=start,
        events=[state.names.event(start, ticks * timeline.TICK_US)],
        distributions={"dns_latency_us": line.distribution("latency")},
    )  # fmt: skip
    process = views.view(
        views.PROCESS, "process", "dnsmasq", series=sessions.children(start, ticks),
        facts={"process.executable": "dnsmasq", "process.command": "dnsmasq"}, since_us=start,
    )  # fmt: skip
    return views.snapshot(start, ticks, "dnsmasq", processes=[process], dns_servers=[server])
