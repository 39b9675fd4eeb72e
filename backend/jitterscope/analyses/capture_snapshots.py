"""A capture as snapshots, one for each of its busiest servers, for the same causes that judge the collector's data.

Data that packets do not show (settings, children, CPU, sockets) are missing in them, and the causes say so.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from jitterscope.analyses import views
from jitterscope.analyses.capture_figures import dense, window
from jitterscope.analyses.names import Names
from jitterscope.analyses.timeline import MOST_TICKS
from jitterscope.diagnosis.core.query_results import GIVEN_UP_US
from jitterscope.diagnosis.core.snapshot import Distribution, Event, FloatArray, Queries, ResourceView, Snapshot

Content = dict[str, Any]
_MOST_SUBJECTS = 6
_MOST_SERVERS = 32
_LISTED = 400
_RESULTS = {0: "NOERROR", 1: "NXDOMAIN", 2: "SERVFAIL", 3: "REFUSED"}


def snapshots(content: Content) -> tuple[Snapshot, ...]:
    """The busiest servers, each with the others as its neighbors. All cover the same window."""
    step = int(content["series"]["step_us"])
    whole = next((entry for entry in content["series"]["entries"] if entry["server"] is None), None)
    if whole is None:
        return ()
    start, ticks = window(whole, step)
    ticks = min(ticks, MOST_TICKS)
    if not ticks:
        return ()
    entries = {entry["server"]: entry for entry in content["series"]["entries"] if entry["server"] is not None}
    servers = {
        server["endpoint"]: _server(content, server, entries[server["endpoint"]], start, ticks, step)
        for server in content["servers"][:_MOST_SERVERS]
        if server["endpoint"] in entries
    }
    subjects = list(servers)[:_MOST_SUBJECTS]
    return tuple(
        views.snapshot(
            start, ticks, content["endpoints"][subject], dns_servers=[servers[subject]], step_us=step,
            neighbours=[view for endpoint, view in servers.items() if endpoint != subject],
        )
        for subject in subjects
    )  # fmt: skip


def _server(content: Content, server: Content, entry: Content, start: int, ticks: int, step: int) -> ResourceView:
    endpoint = server["endpoint"]
    sent, latency, results = _own_queries(content, endpoint)
    complete = bool(content["queries"]["complete"])
    series: dict[str, FloatArray] = {
        "dns_queries": dense(entry, step, start, ticks, "queries"),
        "dns_answers": dense(entry, step, start, ticks, "answers"),
        "dns_nxdomain": dense(entry, step, start, ticks, "nxdomain"),
        "dns_inflight": dense(entry, step, start, ticks, "in_flight_end", gauge=True),
        "dns_latency_max_us": _present(entry, step, start, ticks, "max_us"),
        "dns_slow": dense(entry, step, start, ticks, "slow"),
        "dns_servfail": dense(entry, step, start, ticks, "servfail"),
        "dns_refused": dense(entry, step, start, ticks, "refused"),
        # Given up after 5 s, as the collector counts them; queries sent at the end of the file may still be answered.
        "dns_timeouts": dense(entry, step, start - GIVEN_UP_US, ticks, "unanswered"),
    }
    if server["tcp"]["connections"]:
        series["dns_tcp_connections"] = dense(entry, step, start, ticks, "connections_end", gauge=True)
        series["dns_tcp_idle"] = dense(entry, step, start, ticks, "idle_end", gauge=True)
    return views.view(
        10 + endpoint, "dns_server", content["endpoints"][endpoint], key=content["endpoints"][endpoint], series=series,
        facts={"dns.upstreams": _upstreams(content, endpoint)}, since_us=start,
        events=_names(content, server, start, ticks * step),
        distributions={"dns_latency_us": _distribution(entry, start, ticks, step)},
        queries=Queries(
            sent_us=np.round(sent).astype(np.int64), latency_us=np.round(latency).astype(np.int64), result=results,
            complete=((start, start + ticks * step),) if complete else (),
        ),
    )  # fmt: skip


def _own_queries(content: Content, endpoint: int) -> tuple[FloatArray, FloatArray, Any]:
    """Arrival (µs), latency (µs), and result of the listed queries of one server, by arrival."""
    queries = content["queries"]
    own = np.array(queries["server"], dtype=np.int64) == endpoint
    sent = np.array(queries["sent_us"], dtype=np.float64)[own]
    order = np.argsort(sent, kind="stable")
    latency = np.array(queries["latency_us"], dtype=np.float64)[own][order]
    return sent[order], latency, np.array(queries["result"], dtype=np.int64)[own][order]


def _present(entry: Content, step: int, start: int, ticks: int, column: str) -> FloatArray:
    out = np.full(ticks, np.nan)
    for at_us, value in zip(entry["at_us"], entry[column], strict=True):
        index = int((at_us - start) // step)
        if value is not None and 0 <= index < ticks:
            out[index] = value
    return out


def _distribution(entry: Content, start: int, ticks: int, step: int) -> Distribution | None:
    listed = entry["distribution"]
    if listed is None or not listed["row"]:
        return None
    at_us = np.array(entry["at_us"], dtype=np.int64)
    tick = (at_us[np.array(listed["row"], dtype=np.int64)] - start) // step
    inside = (tick >= 0) & (tick < ticks)
    if not inside.any():
        return None
    bucket, count = (np.array(listed[key], dtype=np.int64)[inside] for key in ("bucket", "count"))
    return Distribution(tick=tick[inside], bucket=bucket, count=count)


def _upstreams(content: Content, endpoint: int) -> str | None:
    """The upstreams to which the server forwarded its queries: the fact that its settings would provide."""
    listed = []
    for item in content["forwarding"]:
        if item["server"] == endpoint and item["queries"]:
            address, _, port = content["endpoints"][item["upstream"]].rpartition(":")
            listed.append({"zone": ".", "address": address.strip("[]"), "port": int(port)})
    return json.dumps(listed) if listed else None


def _names(content: Content, server: Content, start: int, lasts_us: int) -> list[Event]:
    """The event dns.names: by client if every query is listed; else only if all names are this server's."""
    queries, totals = content["queries"], content["totals"]
    rows: list[list[object]]
    if queries["complete"]:
        names = Names()
        columns = zip(*(queries[key] for key in ("server", "client", "name", "result", "latency_us")), strict=True)
        for at, client, name, result, latency_us in columns:
            if at == server["endpoint"] and name >= 0:
                asked, _, type = content["texts"][name].rpartition(" ")
                names.add(content["addresses"][client], asked, type, _RESULTS.get(result, ""), float(latency_us))
        return [names.event(start, lasts_us)] if names.queries else []
    if server["queries"] < totals["queries"]:
        return []
    rows = [
        ["", name["name"].rstrip(".") or ".", name["type"], name["queries"], name["nxdomain"], name["servfail"],
         round(name["time_sum_us"])]
        for name in content["names"]["most_asked"][:_LISTED]
    ]  # fmt: skip
    attributes = {
        "rows": json.dumps(rows),
        "queries": str(totals["queries"]),
        "nxdomain": str(totals["nxdomain"]),
        "names": str(content["names"]["distinct_at_least"]),
    }
    return [Event("dns.names", start, lasts_us, attributes)]
