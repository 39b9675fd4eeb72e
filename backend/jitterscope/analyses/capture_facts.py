"""The figures of a capture in words. Input: a report of jitterscope-evidence (collector/internal/evidence)."""

from __future__ import annotations

from typing import Any

from jitterscope.analyses.report import Fact
from jitterscope.analyses.wording import duration, plural, share, size

Content = dict[str, Any]
CHILD_LIMIT = 20
_FEW = 10
_WAITS_TIMES, _WAITS_US = 5, 50_000


def summary(content: Content) -> str:
    totals, latency, file = content["totals"], content["totals"]["latency"], content["file"]
    says = f"{plural(file['packets'], 'packet')}, {plural(totals['queries'], 'DNS query', 'DNS queries')}"
    if latency["count"]:
        says += f", median {duration(latency['p50_us'])}, slowest {duration(latency['max_us'])}"
    if totals["unanswered"]:
        says += f", {totals['unanswered']:,} timed out"
    return says


def facts(content: Content) -> list[Fact]:
    """Facts that apply to the whole file."""
    found = [_file(content["file"]), _queries(content["totals"])]
    latency = content["totals"]["latency"]
    if latency["count"]:
        found.append(
            Fact(
                id="durations",
                label="Latency",
                value=f"median {duration(latency['p50_us'])}, p99 {duration(latency['p99_us'])}, "
                f"slowest {duration(latency['max_us'])}",
                level="attention" if latency["max_us"] >= 1e6 else "info",
                numbers={name: latency[name] for name in ("count", "min_us", "p50_us", "p90_us", "p99_us", "max_us")},
            )
        )
    found += [_waiting(content, item) for item in content["forwarding"][:4] if item["before_forward"]["count"]]
    found += [fact for server in content["servers"] if (fact := _new_connections(content, server)) is not None][:4]
    if content["tcp"]["connections"]:
        found += _connections(content["tcp"])
    others = [port for port in content["ports"] if port["port"] != 53]
    if others:
        found.append(
            Fact(
                id="ports",
                label="DNS on ports other than 53",
                value=", ".join(
                    f"{port['port']}/{port['protocol']} ({port['queries']:,} queries)" for port in others[:6]
                ),
                detail="Recognized by packet content.",
            )
        )
    return found


def _file(file: Content) -> Fact:
    lasts = (file["last_at_us"] or 0) - (file["first_at_us"] or 0)
    format = file["format"] + (", gzip" if file["compression"] else "")
    return Fact(
        id="file",
        label="Capture",
        value=f"{plural(file['packets'], 'packet')} in {duration(lasts)}",
        detail=f"{format}, {size(file['bytes'])}.",
        level="attention" if file["reported_drops"] else "info",
        numbers={"packets": file["packets"], "bytes": file["bytes"], "lasts_us": lasts},
    )


def _queries(totals: Content) -> Fact:
    parts = [
        f"{totals[key]:,} {name}"
        for key, name in (
            ("nxdomain", "NXDOMAIN"), ("servfail", "SERVFAIL"), ("refused", "REFUSED"), ("truncated", "truncated"),
            ("repeated_queries", "repeated within 5 s"), ("repeated_after_5_s", "repeated after 5 s or more"),
        )
        if totals[key]
    ]  # fmt: skip
    lost = totals["unanswered"] - totals["unanswered_late"]
    numbers = {
        key: totals[key]
        for key in ("queries", "answers", "unanswered", "nxdomain", "servfail", "refused", "udp_queries", "tcp_queries")
    }
    return Fact(
        id="queries",
        label="Queries",
        value=f"{totals['queries']:,}, {totals['answers']:,} answered"
        + (f", {totals['unanswered']:,} not" if totals["unanswered"] else ""),
        level="attention" if lost or totals["servfail"] else "info",
        detail=f"{totals['udp_queries']:,} over UDP, {totals['tcp_queries']:,} over TCP"
        + (f"; {', '.join(parts)}." if parts else "."),
        numbers=numbers,
    )


def _waiting(content: Content, item: Content) -> Fact:
    before, total = item["before_forward"], item["total"]
    server, upstream = content["endpoints"][item["server"]], content["endpoints"][item["upstream"]]
    return Fact(
        id=f"forward_{item['server']}_{item['upstream']}",
        label=f"Inside {server} before it asked {upstream}",
        value=f"median {duration(before['p50_us'])}, slowest {duration(before['max_us'])}",
        level="attention" if before["max_us"] > 0.5 * total["max_us"] and before["max_us"] > 100_000 else "info",
        detail=f"Of {plural(item['queries'], 'query', 'queries')}; the upstream itself took "
        f"{duration(item['upstream_time']['p50_us'])} (median), {duration(item['upstream_time']['max_us'])} at most."
        if item["upstream_time"]["count"]
        else None,
        numbers={
            "queries": item["queries"],
            "p50_us": before["p50_us"],
            "p99_us": before["p99_us"],
            "max_us": before["max_us"],
        },
    )


def _new_connections(content: Content, server: Content) -> Fact | None:
    """A server with a connection limit answers quickly on open connections, and late on new ones, which wait."""
    first, later = server["tcp_first_latency"], server["tcp_later_latency"]
    if first["count"] < _FEW or later["count"] < _FEW:
        return None
    waits = first["p50_us"] > max(_WAITS_TIMES * later["p50_us"], later["p50_us"] + _WAITS_US)
    if not waits:
        return None
    endpoint = content["endpoints"][server["endpoint"]]
    return Fact(
        id=f"new_connections_{server['endpoint']}",
        label=f"New connections to {endpoint} wait",
        value=f"the first query of a connection takes {duration(first['p50_us'])} (median), later ones "
        f"{duration(later['p50_us'])}",
        level="attention",
        detail=f"Up to {server['tcp']['open_max']} concurrent connections, {server['tcp']['idle_max']} idle for "
        f"over 1 s. A dnsmasq whose {CHILD_LIMIT} children are all taken behaves like this: connections wait until an "
        "idle one is closed. Its process count, or the collector, shows whether they are.",
        numbers={
            "first_p50_us": first["p50_us"], "later_p50_us": later["p50_us"], "first_count": first["count"],
            "open_max": server["tcp"]["open_max"], "idle_max": server["tcp"]["idle_max"],
        },
    )  # fmt: skip


def _connections(tcp: Content) -> list[Fact]:
    idle, half = tcp["longest_idle"], tcp["half_closed_time"]
    found = [
        Fact(
            id="connections",
            label="Concurrent TCP connections",
            value=f"up to {tcp['open_max']}, {tcp['connections']:,} total",
            level="attention" if tcp["open_max"] > CHILD_LIMIT else "info",
            detail=f"A dnsmasq serves {CHILD_LIMIT} at once, unless it has --max-tcp-connections (2.90 or newer)."
            if tcp["open_max"] > CHILD_LIMIT
            else None,
            numbers={"open_max": tcp["open_max"], "connections": tcp["connections"], "opened": tcp["opened"]},
        ),
        Fact(
            id="idle",
            label="Idle connections (over 1 s)",
            value=f"up to {tcp['idle_max']}",
            detail=None if not idle["count"] else f"Longest silence on a connection {duration(idle['max_us'])}.",
            numbers={"idle_max": tcp["idle_max"]} | ({"longest_us": idle["max_us"]} if idle["count"] else {}),
        ),
    ]
    if tcp["half_closed"]:
        found.append(
            Fact(
                id="half_closed",
                label="Half-closed connections",
                value=share(tcp["half_closed"], tcp["connections"]),
                level="attention" if tcp["answered_after_close"] else "info",
                detail=f"For up to {duration(half['max_us'] or 0)}; "
                f"{plural(tcp['answered_after_close'], 'answer')} came "
                f"after the client had closed, {plural(tcp['reset_after_close'], 'reset')} after that.",
                numbers={key: tcp[key] for key in ("half_closed", "answered_after_close", "reset_after_close")},
            )
        )
    if tcp["port_reuses"]:
        interval = tcp["port_reuse_interval"]
        found.append(
            Fact(
                id="port_reuse",
                label="Reused client ports",
                value=f"{plural(tcp['port_reuses'], 'time')}, {tcp['port_reuse_within_60_s']:,} of them within 60 s",
                detail=None if not interval["count"] else f"Shortest interval {duration(interval['min_us'])}.",
                numbers={"port_reuses": tcp["port_reuses"], "within_60_s": tcp["port_reuse_within_60_s"]},
            )
        )
    return found
