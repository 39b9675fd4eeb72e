"""All queries go through one UDP socket, which is read one datagram at a time, while CPUs are idle."""

from __future__ import annotations

import math

import numpy as np

from jitterscope.diagnosis.areas.dns.causes import _report as report
from jitterscope.diagnosis.areas.dns.fixes import multisocket
from jitterscope.diagnosis.areas.dns.readings import socket_waits
from jitterscope.diagnosis.areas.dns.readings.socket_waits import Waits
from jitterscope.diagnosis.core import impact, servers
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.severity import harm_of, lowered, severity
from jitterscope.diagnosis.core.signals import number, read_cpu, series
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

ID = "dns/single_socket_serialization"
NEEDS = ("dns_queries", "dns_queue_wait_us", "dns_work_us", "cpu_usage_us")
LEAST_WAITS, LEAST_RATIO = 20, 0.0005
# Above this share of its CPUs in use the server lacks CPU, not sockets; below that share of idle the node does.
BUSY, IDLE = 0.85, 0.05
# Work of low priority takes what is idle and holds nobody up: then the server itself must have waited for a CPU.
STARVED = 1 / 3


def _waits(snapshot: Snapshot) -> bool:
    """A narrow snapshot has no processes whose GC explains waits: it sees no fewer without a reason."""
    for server in snapshot.dns_servers:
        if "dns_queue_wait_us" in server.distributions:
            waits = socket_waits.measure(snapshot, server)
            alone = float(waits.waits[waits.free].sum())
            if alone >= LEAST_WAITS and alone >= 0.5 * float(waits.waits.sum()):
                return True
    return False


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    if gone := servers.missing(snapshot, NEEDS):
        return report.not_enough(ID, gone, snapshot)
    known = [view for view in snapshot.dns_servers if "dns_queue_wait_us" in view.distributions]
    measured = [(view, socket_waits.measure(snapshot, view)) for view in known]
    server, waits = max(measured, key=lambda item: float(item[1].waits[item[1].free].sum()))
    queries = float(np.nansum(series(server, "dns_queries", snapshot.ticks)))
    total, alone = float(waits.waits.sum()), float(waits.waits[waits.free].sum())
    explained = float(waits.waits[waits.explained].sum())
    held_up = total - explained - alone
    numbers = {"queries": queries, "waits": total, "unexplained_waits": alone, "held_up_waits": held_up}
    if alone < LEAST_WAITS or alone < LEAST_RATIO * queries:
        return NotFound(
            cause=ID,
            reason=f"{total:,.0f} of {queries:,.0f} queries waited over 5 ms in the receive queue, "
            f"{explained:,.0f} of these during throttling or GC, {held_up:,.0f} while the server hardly ran, at a "
            "rate that it usually reads without waiting.",
            numbers=numbers,
        )
    if alone < 0.5 * total:
        return NotFound(
            cause=ID,
            reason=f"{explained:,.0f} of {total:,.0f} waits in the receive queue came during throttling or GC, "
            f"{held_up:,.0f} while the server hardly ran, at a rate that it usually reads without waiting: stopped, "
            "blocked or not scheduled.",
            numbers=numbers,
        )
    sockets = number(server.fact("dns.udp_sockets"))
    if sockets is None:
        return report.not_enough(ID, ["dns.udp_sockets"], snapshot)
    if sockets > 1:
        return NotFound(
            cause=ID, reason=f"The server reads {sockets:,.0f} sockets.", numbers=numbers | {"udp_sockets": sockets}
        )
    return _with_cpu(snapshot, server, waits, numbers)


def _with_cpu(
    snapshot: Snapshot, server: ResourceView, waits: Waits, numbers: dict[str, float]
) -> Found | NotFound | NotEnoughData:
    capacity = socket_waits.cpus(snapshot)
    used = socket_waits.busy(snapshot, waits, capacity)
    if not math.isfinite(used):
        return report.not_enough(ID, ["cpu_usage_us"], snapshot)
    numbers = numbers | {"cpus": capacity, "cpu_busy_ratio": used}
    if capacity < 1.5 or used >= BUSY:
        return NotFound(
            cause=ID,
            reason=f"While queries waited, the server used {say.percent(used)} of its {capacity:.3g} CPU, so CPU is "
            "short, not sockets.",
            numbers=numbers,
        )
    idle = socket_waits.node_idle(snapshot, waits.free)
    starved = socket_waits.waited_for_cpu(snapshot, waits)
    if idle < IDLE and not starved < STARVED:
        return NotFound(
            cause=ID,
            reason=f"While queries waited, {say.percent(idle)} of the node's CPU time was idle, so CPU is short, not "
            "sockets.",
            numbers=numbers | {"node_idle_ratio": idle},
        )
    waited, worked = (float(values[waits.free].sum()) for values in (waits.wait_us, waits.work_us))
    if waited < worked:
        return NotFound(
            cause=ID,
            reason=f"Queries that waited spent {say.percent(waited / (waited + worked))} of their time in the "
            "queue, the rest in the server.",
            numbers=numbers | {"queue_ratio": waited / (waited + worked)},
        )
    return _found(snapshot, server, waits, numbers, waited / (waited + worked))


def _found(snapshot: Snapshot, server: ResourceView, waits: Waits, numbers: dict[str, float], share: float) -> Found:
    n, step = snapshot.ticks, snapshot.step_us
    ticks = np.flatnonzero(waits.free)
    low, high = snapshot.start_us + int(ticks[0]) * step, snapshot.start_us + (int(ticks[-1]) + 1) * step
    queries, alone = numbers["queries"], numbers["unexplained_waits"]
    explained = numbers["waits"] - alone - numbers["held_up_waits"]
    slow = float(waits.slow[waits.free].sum())
    drops = float(np.nansum(series(server, "dns_socket_drops", n)))
    longest = float(waits.longest_us[waits.free].max())
    level = severity(slow, queries, longest / 1000, drops)
    lost = f", and {say.count(drops, 'query', 'queries')} found it full" if drops else ""
    asked = series(server, "dns_queries", n)
    busy, quiet = (part[np.isfinite(part)] for part in (asked[waits.free], asked[waits.waits == 0]))
    rate = float(busy.mean()) * 1e6 / step if len(busy) else None
    usual = float(np.median(quiet)) * 1e6 / step if len(quiet) else rate
    at, rates = "", list[Evidence]()
    if rate is not None and usual is not None:
        at = f", at {rate:,.0f} queries/s (baseline {usual:,.0f})"
        rates = [
            Evidence(
                id="rate",
                statement="Queries/s while queries waited / baseline",
                value=f"{rate:,.0f} / {usual:,.0f}",
                numbers={"waiting_queries_per_s": rate, "usual_queries_per_s": usual},
                series=report.refs(snapshot, low, high, "dns_queries"),
            )
        ]
    name, known = say.who(snapshot), bool(np.isfinite(read_cpu(snapshot).throttled).any())
    return Found(
        cause=ID,
        score=round(min(1.0, 0.3 + 0.4 * share * alone / numbers["waits"] + 0.2 * (level is not None)), 4),
        confidence=lowered("high" if alone >= 100 and numbers["cpu_busy_ratio"] < 0.7 else "medium", int(not known)),
        severity=level,
        harm=harm_of(level, known=True),
        title=f"Queries wait up to {say.ms(longest)} in the receive queue of {name}'s only UDP socket while "
        f"{say.percent(1 - numbers['cpu_busy_ratio'])} "
        f"of its CPU is idle{lost}",
        summary=f"{alone:,.0f} of {queries:,.0f} queries waited over 5 ms before the server read them{at}. "
        f"Waiting took {say.percent(share)} of their time. "
        + ("The CPU was not throttled." if known else "Whether the CPU was throttled is not recorded."),
        onset_us=low,
        last_us=high,
        impact=impact.of_servers(snapshot),
        evidence=[
            Evidence(
                id="queue_share",
                statement="Time in the receive queue / in the server, where queries waited",
                value=f"{say.percent(share)} / {say.percent(1 - share)}",
                numbers={"queue_ratio": share, "work_ratio": 1 - share},
                series=report.refs(snapshot, low, high, "dns_queue_wait_us", "dns_work_us"),
            ),
            Evidence(
                id="cpu_left",
                statement="CPU used while queries waited, of the CPU available to the server",
                value=f"{say.percent(numbers['cpu_busy_ratio'])} of {numbers['cpus']:.3g} CPU",
                numbers={"cpu_busy_ratio": numbers["cpu_busy_ratio"], "cpus": numbers["cpus"]},
                series=report.refs(snapshot, low, high, "cpu_usage_us"),
            ),
            Evidence(
                id="not_throttled",
                statement="Waits over 5 ms during throttling or GC" if known else "Waits over 5 ms during GC",
                value=f"{explained:,.0f} of {numbers['waits']:,.0f}",
                comparison=f"{numbers['held_up_waits']:,.0f} more while the server hardly ran",
                numbers={"explained": explained, "of": numbers["waits"], "held_up": numbers["held_up_waits"]},
            ),
            *rates,
            Evidence(
                id="sockets",
                statement="UDP sockets that the queries go through",
                value="1",
                comparison=f"{drops:,.0f} datagrams found the queue full"
                if drops
                else "0 datagrams found the queue full",
                numbers={"udp_sockets": 1.0, "drops": drops},
                series=report.refs(snapshot, low, high, "dns_socket_drops"),
            ),
        ],
    )


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    numbers = {key: value for item in found.evidence for key, value in item.numbers.items()}
    return multisocket.propose(snapshot, numbers["cpus"], numbers["drops"])


CAUSE = Cause(
    id=ID,
    title="One UDP socket serializes queries",
    summary="The server reads one socket with one reader; queries wait in its queue while CPUs are idle.",
    mechanism="Each UDP socket has one queue and, in CoreDNS, one goroutine that reads it. dnsmasq has one thread for "
    "everything. When queries arrive faster than one reader takes them, at a steady rate or in a burst, they wait in "
    "the queue, and a full queue drops them. More CPU does not help. Found where queries wait in the queue longer "
    "than they are worked on, the CPU was neither throttled nor used up, and there is only one socket, with a busy "
    "reader.",
    needs=NEEDS,
    rivals=("cpu/gc_throttling", "cpu/neighbours", "cpu/request_burst"),
    # Waits of a server that hardly ran, or on a node without idle CPU, are not counted as waits for the reader.
    excludes=("cpu/neighbours",),
    detect=detect,
    propose=propose,
    false_positives=(
        "Other programs that use up the node's CPUs also delay the reader. The node's idle time is checked, and "
        "whether the same rate was read without waiting at other times.",
    ),
    references=(
        "https://coredns.io/plugins/multisocket/",
        "https://github.com/coredns/coredns/issues/5595",
        "https://man7.org/linux/man-pages/man7/socket.7.html",
    ),
    signs=Signs(("dns_queue_wait_us", "dns_queries", "cpu_usage_us", "cpu_throttled_periods"), _waits),
)
