"""Evidence that connections are opened and kept without need."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.dns.causes._exhaustion_evidence import refs
from jitterscope.diagnosis.areas.dns.readings.pool import Held, Opened
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Evidence
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import versions as dns_versions


def of_held(snapshot: Snapshot, case: Held) -> list[Evidence]:
    tcp, short = case.tcp, case.tcp.short
    idle = tcp.idle_served[short]
    idle_mean = float(np.nanmean(idle)) if np.isfinite(idle).any() else 0.0
    close_wait = tcp.close_wait[short]
    waiting = float(np.nanmax(close_wait)) if np.isfinite(close_wait).any() else 0.0
    chance = float(short.mean())
    of = case.hurt.late + case.hurt.lost + case.hurt.waiting
    return [
        Evidence(
            id="children_busy",
            statement="Share of time that children worked on a query, during the shortage",
            value=say.percent(case.busy_ratio),
            comparison=f"all {tcp.now:,.0f} in use",
            numbers={"busy_ratio": case.busy_ratio, "child_limit": tcp.now},
            series=refs(snapshot, () if tcp.process is None else (tcp.process,), "process_children"),
        ),
        Evidence(
            id="idle_connections",
            statement="Connections idle for over 1 s, mean",
            value=f"{idle_mean:,.1f} of {tcp.now:,.0f}",
            numbers={"idle": idle_mean, "child_limit": tcp.now},
            series=refs(snapshot, tcp.servers, "dns_tcp_idle", "dns_tcp_connections"),
        ),
        Evidence(
            id="accept_backlog",
            statement="Accept queue during the shortage: maximum; ticks with waiting connections",
            value=f"{np.nanmax(tcp.backlog):,.0f}; {int((np.nan_to_num(tcp.backlog) > 0)[short].sum())} of "
            f"{short.sum()}",
            numbers={"backlog_max": float(np.nanmax(tcp.backlog)), "of": float(short.sum())},
            series=refs(snapshot, tcp.servers, "dns_accept_backlog"),
        ),
        Evidence(
            id="slow_in_stalls",
            statement=f"Queries that took {case.hurt.briefly_over}, failed, or still wait, during the shortage",
            value=f"{case.hurt.suffered:,} of {of:,}",
            comparison=f"by chance: {say.percent(chance)}",
            numbers={
                "hits": float(case.hurt.suffered),
                "of": float(of),
                "chance_ratio": chance,
                "late_us": case.hurt.late_us,
            },
            series=refs(snapshot, case.front.dns_servers, "dns_slow", "dns_timeouts"),
        ),
        Evidence(
            id="given_up",
            statement="Connections closed by the client but not by dnsmasq (close_wait), maximum; failed queries",
            value=f"{waiting:,.0f}; {case.hurt.failures:,}",
            numbers={"close_wait": waiting, "failed": float(case.hurt.failures)},
            series=refs(snapshot, tcp.servers, "dns_tcp_close_wait"),
        ),
    ]


def of_opened(snapshot: Snapshot, case: Opened) -> list[Evidence]:
    server = (case.server,)
    found = [
        Evidence(
            id="connections_opened",
            statement="Forwarded queries that found no idle connection and opened one",
            value=f"{case.misses:,.0f} of {case.misses + case.hits:,.0f}",
            comparison=f"{case.misses / case.seconds:,.0f}/s",
            numbers={"opened": case.misses, "of": case.misses + case.hits, "miss_ratio": case.miss_ratio},
            series=refs(snapshot, server, "coredns_conn_cache_misses", "coredns_conn_cache_hits"),
        ),
        Evidence(
            id="forward_time",
            statement="Mean time of a forwarded query",
            value=say.ms(case.mean_us),
            numbers={"mean_us": case.mean_us},
            series=refs(snapshot, server, "coredns_forward_time_us", "coredns_forward_requests"),
        ),
    ]
    held = series(case.server, "dns_upstream_connections", snapshot.ticks)
    idle = series(case.server, "dns_upstream_idle", snapshot.ticks)
    if np.isfinite(held).any() and np.nansum(held) > 0:
        share = float(np.nansum(idle) / np.nansum(held))
        gate = dns_versions.COREDNS_CLEANS_EVERY_10_S
        late = gate.open(dns_versions.of_server(case.server, "coredns"))
        stays = f"closed up to {(case.expire_s or 10) + 10:g} s after their last query" if late else None
        found.append(
            Evidence(
                id="idle_connections",
                statement="Open connections to upstreams, idle for over 1 s",
                value=say.percent(share),
                comparison=stays,
                numbers={"idle_ratio": share, "connections_max": float(np.nanmax(held))},
                series=refs(snapshot, server, "dns_upstream_connections", "dns_upstream_idle"),
            )
        )
    return found
