"""Evidence that a dnsmasq ran out of TCP connections."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.dns.readings.own_time import own_time
from jitterscope.diagnosis.areas.dns.readings.shortage import Shortage
from jitterscope.diagnosis.core import references
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Evidence, SeriesRef
from jitterscope.diagnosis.core.harm import AnswersHarm
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot


def evidence(snapshot: Snapshot, case: Shortage) -> list[Evidence]:
    found = [_children(snapshot, case), _backlog(snapshot, case)]
    found += [item for item in (_turned_away(snapshot, case), _demand(snapshot, case)) if item is not None]
    found.append(_waiting(snapshot, case))
    found += [
        item for item in (_late(snapshot, case), _upstream(snapshot, case), _sat(snapshot, case)) if item is not None
    ]
    return found


def refs(snapshot: Snapshot, views: tuple[ResourceView, ...], *metrics: str) -> list[SeriesRef]:
    """References to those of the metrics that these resources recorded, over the window."""
    return references.recorded((snapshot.start_us, snapshot.end_us), views, *metrics)


def _children(snapshot: Snapshot, case: Shortage) -> Evidence:
    tcp = case.tcp
    most, ticks = float(np.nanmax(tcp.children)), int(tcp.full.sum())
    return Evidence(
        id="children_at_limit",
        statement="Child processes of dnsmasq, one per TCP connection",
        value=f"{most:,.0f} of {tcp.now:,.0f}",
        comparison=f"at the limit for {say.seconds(ticks * snapshot.step_us)} of this window",
        numbers={"children": most, "child_limit": tcp.now, "full_ticks": float(ticks)},
        series=refs(snapshot, () if tcp.process is None else (tcp.process,), "process_children"),
    )


def _backlog(snapshot: Snapshot, case: Shortage) -> Evidence:
    tcp = case.tcp
    waits = np.nan_to_num(tcp.backlog) > 0
    inside, short = int((waits & tcp.short).sum()), int(tcp.short.sum())
    outside, rest = int((waits & ~tcp.full).sum()), int((~tcp.full).sum())
    return Evidence(
        id="accept_backlog",
        statement="Accept queue: maximum; ticks with waiting connections",
        value=f"{np.nanmax(tcp.backlog):,.0f}; {inside} of {short}",
        comparison=f"{outside} of {rest} ticks with free children",
        numbers={
            "backlog_max": float(np.nanmax(tcp.backlog)), "hits": float(inside), "of": float(short),
            "outside_hits": float(outside), "outside_of": float(rest),
        },
        series=refs(snapshot, tcp.servers, "dns_accept_backlog"),
    )  # fmt: skip


def _turned_away(snapshot: Snapshot, case: Shortage) -> Evidence | None:
    if not case.hurt.turned_away:
        return None
    return Evidence(
        id="turned_away",
        statement="Connection attempts that the kernel dropped because the accept queue was full (retried after 1 s "
        "or later)",
        value=f"{case.hurt.turned_away:,}",
        numbers={"listen_drops": float(case.hurt.turned_away)},
        series=refs(snapshot, case.tcp.servers, "dns_listen_drops", "dns_listen_overflows"),
    )


def _demand(snapshot: Snapshot, case: Shortage) -> Evidence | None:
    need = case.demand
    if need is None:
        return None
    whence = "that the servers in front wanted to forward" if need.from_askers else "that arrived"
    return Evidence(
        id="connections_wanted",
        statement=f"Connections needed: queries/s {whence} × time per connection (Little's law)",
        value=f"{need.rate:,.0f}/s × {say.ms(need.hold_us)} = {need.expected:,.0f}",
        comparison=f"limit: {case.tcp.now:,.0f}; needed: {need.low:,.0f} to {need.high:,.0f}",
        numbers={
            "queries_per_s": need.rate, "hold_us": need.hold_us, "wanted": need.expected, "wanted_low": need.low,
            "wanted_high": need.high, "child_limit": case.tcp.now,
        },
        series=refs(snapshot, case.tcp.servers, "dns_queries", "dns_tcp_connections"),
    )  # fmt: skip


def _waiting(snapshot: Snapshot, case: Shortage) -> Evidence:
    hurt, failures = case.hurt, case.hurt.failures
    return Evidence(
        id="waiting_queries",
        statement="Queries waiting unread at the same time, at least; failed queries (SERVFAIL or timed out)",
        value=f"{hurt.waiting:,}; {failures:,}",
        comparison=_failed(hurt) if failures else f"unread for up to {say.seconds(hurt.waited_us)} so far",
        numbers={
            "waiting": float(hurt.waiting), "waited_us": hurt.waited_us, "failed": float(failures),
            "servfail": float(hurt.failed), "timed_out": float(hurt.lost), "late_servfail": float(hurt.failed_late),
        },
        series=refs(snapshot, case.tcp.servers, "dns_inflight", "dns_timeouts"),
    )  # fmt: skip


def _failed(hurt: AnswersHarm) -> str:
    """SERVFAIL and timeouts apart: a forwarder's SERVFAIL comes after 5 s, when its client has given up."""
    after = f", {hurt.failed_late:,} of them answered SERVFAIL later" if hurt.failed_late else ""
    return f"{hurt.failed:,} got SERVFAIL within 5 s, {hurt.lost:,} timed out{after}"


def _late(snapshot: Snapshot, case: Shortage) -> Evidence | None:
    hurt = case.hurt
    of = hurt.late + hurt.lost + hurt.waiting
    if not of:
        return None
    chance = float(case.tcp.short.mean())
    return Evidence(
        id="slow_in_stalls",
        statement=f"Queries that took {hurt.briefly_over}, failed, or still wait, during the shortage",
        value=f"{hurt.suffered:,} of {of:,}",
        comparison=f"by chance: {say.percent(chance)}",
        numbers={
            "hits": float(hurt.suffered), "of": float(of), "chance_ratio": chance, "late_us": hurt.late_us,
            "lost": float(hurt.lost), "waiting": float(hurt.waiting),
        },
        series=refs(snapshot, case.front.dns_servers, "dns_slow", "dns_timeouts"),
    )  # fmt: skip


def _upstream(snapshot: Snapshot, case: Shortage) -> Evidence | None:
    """Was the upstream as quick as ever?"""
    for time in case.upstreams:
        inside = np.repeat(np.arange(len(time.median_us)), 10)[: snapshot.ticks][case.tcp.short]
        during = time.median_us[np.unique(inside)]
        during = during[np.isfinite(during)]
        if not len(during) or time.usual_us is None:
            continue
        now = float(np.median(during))
        views = () if time.target is None else (time.target,)
        return Evidence(
            id="upstream_time",
            statement=f"Latency of upstream {time.edge.address}:{time.edge.port} during the shortage, median",
            value=say.ms(now),
            comparison=f"usual: {say.ms(time.usual_us)}",
            numbers={"upstream_us": now, "usual_us": time.usual_us},
            series=refs(snapshot, views, "dns_queries"),
        )
    return None


def _sat(snapshot: Snapshot, case: Shortage) -> Evidence | None:
    """The query that sat here longest before it was sent on."""
    for time in case.upstreams:
        target = time.target
        for server in case.tcp.servers:
            if target is None or target.queries is None or server.queries is None:
                continue
            split = own_time(server.queries, target.queries, case.hurt.late_us)
            worst = split.longest_before
            if worst is None or split.before_us[worst] < case.hurt.late_us:
                continue
            return Evidence(
                id="sat_before_forwarding",
                statement="Longest time in dnsmasq before a query was forwarded",
                value=say.ms(split.before_us[worst]),
                comparison=f"of {say.ms(split.total_us[worst])} in all; {say.percent(1 - split.upstream_ratio)} of the "
                "time of late answers was spent in dnsmasq",
                numbers={
                    "before_us": float(split.before_us[worst]), "total_us": float(split.total_us[worst]),
                    "own_ratio": 1 - split.upstream_ratio, "late": float(len(split.total_us)),
                },
                series=refs(snapshot, (server,), "dns_latency_max_us"),
            )  # fmt: skip
    return None
