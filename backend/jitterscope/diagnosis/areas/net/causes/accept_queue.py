"""The queue of connections that wait to be accepted is full: clients are dropped, and try again after 1 s or more."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.net.causes import _report as report
from jitterscope.diagnosis.areas.net.fixes import accepting, pooling
from jitterscope.diagnosis.areas.net.quantities import ATTEMPTS, DROPPED_RATIO, LISTEN_DROPS
from jitterscope.diagnosis.areas.net.readings.churn import read_churn
from jitterscope.diagnosis.areas.net.readings.connections import missing
from jitterscope.diagnosis.areas.net.readings.overflow import HELD, Overflow, read_overflow
from jitterscope.diagnosis.core import impact, missing_data
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.late import late
from jitterscope.diagnosis.core.quantity import impact_of
from jitterscope.diagnosis.core.served import slow_of
from jitterscope.diagnosis.core.severity import harm_of, severity
from jitterscope.diagnosis.core.signs import Signs, shows
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "net/accept_queue"
NEEDS = ("listen_drops", "connections_opened")


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    gone = missing(snapshot, NEEDS)
    found = read_overflow(snapshot)
    if gone or found is None:
        return missing_data.not_enough(ID, gone or ["listen_drops"], snapshot)
    numbers = report.known(
        {
            "drops": found.drops,
            "waited": float(found.waited), "attempts": found.attempts, "peak": found.peak, "limit": found.at.limit,
            "throttled": found.throttled, "waiting": found.waiting, "busy": found.busy,
        }
    )  # fmt: skip
    level = severity(found.waited, found.attempts, found.longest_us / 1000)
    if level is None:
        return NotFound(cause=ID, reason=_few(found), numbers=numbers)
    if found.at.limit is None or found.peak is None:
        lacking = ["tcp.accept_limit"] if found.at.limit is None else ["accept_queue"]
        return missing_data.not_enough(ID, lacking, snapshot)
    if not found.full:
        return NotFound(cause=ID, reason=_other(found), numbers=numbers)
    if (reason := _held(found)) is not None:
        return NotFound(cause=ID, reason=reason, numbers=numbers)
    return _found(snapshot, found)


def _few(found: Overflow) -> str:
    dropped = say.count(found.drops, "handshake packet")
    return f"{dropped} dropped for {say.count(found.attempts, 'connection attempt')}: few clients waited."


def _other(found: Overflow) -> str:
    return (
        f"The kernel dropped {found.drops:,.0f} handshake packets while at most {found.peak:,.0f} connections waited "
        f"in an accept queue of {found.at.limit:,.0f}: the queue was not full."
    )


def _held(found: Overflow) -> str | None:
    """What kept the server from accepting; None: nothing that is known."""
    for share, what in (
        (found.throttled, "the server was throttled by its CPU limit"),
        (found.waiting, "the server's threads waited for a CPU"),
        (found.busy, "the server's single thread was busy"),
    ):
        if share is not None and share >= HELD:
            return f"Within 1 s of {say.percent(share)} of {found.drops:,.0f} drops, {what}."
    if found.silent:
        return (
            f"Around {found.drops:,.0f} drops the server answered nothing for {found.silent * 100:,} ms although it "
            "owed answers: it stalled, and the queue filled up behind the stall."
        )
    return None


def _found(snapshot: Snapshot, found: Overflow) -> Found:
    span = report.extent(snapshot, np.flatnonzero(found.spans))
    level = severity(found.waited, found.attempts, found.longest_us / 1000)
    limit = found.at.limit or 0.0
    where = found.at.name
    slow = float(np.nansum(slow_of(snapshot, found.at.server, late(found.at.server, None).over_us)[found.spans]))
    beside = f" Meanwhile {slow:,.0f} answers were slow because their requests waited in the queue." if slow else ""
    return Found(
        cause=ID,
        score=round(0.55 + 0.25 * min(1.0, 5 * found.waited / max(1.0, found.attempts)) + 0.1 * (level != "info"), 4),
        confidence=_confidence(found),
        severity=level,
        harm=harm_of(level, known=True),
        title=f"{say.who(snapshot)} keeps at least {found.waited:,} clients waiting for a connection: its accept queue "
        f"of {limit:,.0f} is full",
        summary=f"{say.count(found.peak or 0, 'connection')} waited at {where} to be accepted (limit: {limit:,.0f}). "
        f"The kernel dropped {found.drops:,.0f} more handshake packets, from at least {found.waited:,} clients. A "
        "client retransmits its SYN after 1 s, then after 2 and 4 s (Linux 6.5 and later: every second at first). The "
        f"server does not see the client until the connection is established.{beside}",
        onset_us=span[0],
        last_us=span[1],
        impact=report.waits(found.waited, found.attempts, found.longest_us)
        | impact_of(
            {
                LISTEN_DROPS: int(found.drops), ATTEMPTS: int(found.attempts),
                DROPPED_RATIO: found.drops / max(1.0, found.drops + float(np.nansum(found.at.opened))),
            }
        )
        | impact.of_cpu(snapshot),
        evidence=_evidence(snapshot, found, span),
    )  # fmt: skip


def _confidence(found: Overflow) -> Confidence:
    unknown = [found.throttled, found.waiting].count(None)
    if found.waited >= 5 and not unknown:
        return "high"
    return "medium" if unknown < 2 else "low"


def _evidence(snapshot: Snapshot, found: Overflow, span: tuple[int, int]) -> list[Evidence]:
    server, limit = found.at.server, found.at.limit or 0.0
    per_second = found.accepted_per_s(snapshot.step_us)
    evidence = [
        Evidence(
            id="dropped",
            statement="Handshake packets that the listening socket dropped",
            value=f"{found.drops:,.0f}",
            comparison=f"{say.count(float(np.nansum(found.at.opened)), 'connection')} established",
            numbers={"drops": found.drops, "opened": float(np.nansum(found.at.opened))},
            series=report.refs(span, server, "listen_drops", "connections_opened"),
        ),
        Evidence(
            id="waited",
            statement="Clients that waited, at least: one per 12 dropped packets, or one per late handshake",
            value=f"{found.waited:,}",
            comparison=f"of {found.attempts:,.0f} connection attempts; {found.late.count:,} handshakes were late",
            numbers={"hits": float(found.waited), "of": found.attempts, "late": float(found.late.count)},
            series=report.refs(span, server, "handshake_us", "listen_drops"),
        ),
        Evidence(
            id="full",
            statement="Connections waiting to be accepted, at most",
            value=f"{found.peak:,.0f}",
            comparison=f"limit: {limit:,.0f}" + _of_somaxconn(found),
            numbers=report.known({"peak": found.peak, "limit": limit, "somaxconn": found.at.somaxconn}),
            series=report.refs(span, server, "accept_queue"),
        ),
        Evidence(
            id="accepted",
            statement="Connections established while attempts were dropped",
            value=f"{per_second:,.0f}/s",
            comparison=f"up to {found.most_dropped:,.0f} dropped within one second",
            numbers=report.known({"per_s": per_second, "most_dropped": found.most_dropped}),
            series=report.refs(span, server, "connections_opened", "listen_drops"),
        ),
    ]
    synacks = float(np.nansum(found.at.synacks))
    if synacks:
        evidence.append(
            Evidence(
                id="synacks",
                statement="SYN-ACKs retransmitted because the client's ACK found the queue full",
                value=f"{synacks:,.0f}",
                numbers={"synacks": synacks},
                series=report.refs(span, server, "synack_retransmits"),
            )
        )
    return evidence


def _of_somaxconn(found: Overflow) -> str:
    most = found.at.somaxconn
    return "" if most is None else f", net.core.somaxconn: {most:,.0f}"


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    overflow, churn = read_overflow(snapshot), read_churn(snapshot)
    if overflow is None:
        return []
    fixes = accepting.propose(snapshot, overflow)
    if churn is not None and churn.at.server.id == overflow.at.server.id and (fix := pooling.keep_alive(churn)):
        fixes.append(fix)
    # What cannot help stands behind what can.
    return sorted(fixes, key=lambda one: one.verdict == "cannot_help")


def _dropped(snapshot: Snapshot) -> bool:
    return shows(snapshot.tcp_servers, "listen_drops")


CAUSE = Cause(
    id=ID,
    title="Accept queue overflows",
    summary="More connections arrive at once than the accept queue holds. The kernel drops the rest, and their "
    "clients retry after 1 s or more.",
    mechanism="An established connection waits in the accept queue of the listening socket until the program accepts "
    "it. The queue holds as many connections as the program requests in listen(), capped at net.core.somaxconn. While "
    "it is full, the kernel drops SYNs and the final packets of handshakes. Clients retransmit the SYN after 1 s, "
    "then after 2, 4, and 8 s. Neither side gets an error, and the server never sees those requests. If a burst "
    "exceeds the queue and the server accepts it soon, a longer queue is enough. If connections keep arriving faster "
    "than the program accepts them, it is not. If the program stalled meanwhile, the full queue is only a "
    "consequence, and this cause is not reported.",
    needs=NEEDS,
    rivals=("cpu/event_loop_blocked", "cpu/limit_too_low", "net/connect_churn", "net/retransmission"),
    detect=detect,
    propose=propose,
    false_positives=(
        "A port scan or a connection flood fills the queue too: more room helps an attacker as much as clients.",
    ),
    references=(
        "https://man7.org/linux/man-pages/man2/listen.2.html",
        "https://docs.kernel.org/networking/snmp_counter.html",
        "https://www.rfc-editor.org/rfc/rfc6298",
    ),
    signs=Signs(("listen_drops",), _dropped),
)
