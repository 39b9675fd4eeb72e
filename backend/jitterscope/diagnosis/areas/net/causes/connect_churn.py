"""Clients open a connection for each request, over a way so long that connecting is a good part of what they wait."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.net.causes import _report as report
from jitterscope.diagnosis.areas.net.fixes import pooling
from jitterscope.diagnosis.areas.net.quantities import CONNECTS_PER_REQUEST, HANDSHAKE_MS
from jitterscope.diagnosis.areas.net.readings.churn import AGAIN, EACH, Churn, read_churn
from jitterscope.diagnosis.areas.net.readings.connections import missing
from jitterscope.diagnosis.areas.net.readings.overflow import read_overflow
from jitterscope.diagnosis.core import impact, missing_data
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.quantity import impact_of
from jitterscope.diagnosis.core.severity import SLOW_US, harm_of, severity
from jitterscope.diagnosis.core.signs import Signs, shows
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "net/connect_churn"
NEEDS = ("connections_opened", "reconnections", "requests")
FEWEST = 20
# Of a client's wait.
SHARE = 0.25


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    gone = missing(snapshot, NEEDS)
    found = read_churn(snapshot)
    if gone or found is None:
        return missing_data.not_enough(ID, gone or ["reconnections"], snapshot)
    numbers = report.known(
        {
            "opened": found.opened, "again": found.again, "requests": found.requests, "per_request": found.per_request,
            "handshake_us": found.median_us,
        }
    )  # fmt: skip
    if (reason := _not(found)) is not None:
        return NotFound(cause=ID, reason=reason, numbers=numbers)
    overflow = read_overflow(snapshot)
    if overflow is not None and overflow.at.server.id == found.at.server.id and overflow.full:
        reason = (
            f"{found.per_request:.1f} connections are opened per request, and {overflow.drops:,.0f} attempts were "
            "dropped: clients wait for room in the accept queue, not only for the handshake."
        )
        return NotFound(cause=ID, reason=reason, numbers=numbers | {"drops": overflow.drops})
    slow = min(float(found.handshakes.over(SLOW_US).count), found.again)
    level = severity(slow, max(found.requests, found.opened), found.median_us / 1000)
    if level is None:
        reason = f"{slow:,.0f} of {say.count(found.opened, 'handshake')} took over {say.ms(SLOW_US)}."
        return NotFound(cause=ID, reason=reason, numbers=numbers)
    # As long as it lasts each request is later by as much: a cost, and no outage.
    level = "info" if level == "info" else "warning"
    hot = np.flatnonzero(np.nan_to_num(found.at.again) > 0)
    span = report.extent(snapshot, hot)
    took = say.ms(found.median_us)
    return Found(
        cause=ID,
        score=round(0.4 + 0.3 * min(1.0, found.per_request) + 0.2 * min(1.0, 2 * found.share), 4),
        confidence=_confidence(found),
        severity=level,
        harm=harm_of(level, known=True),
        title=f"Clients of {say.who(snapshot)} open a new connection for "
        f"{say.percent(min(1.0, found.per_request))} of its requests, which takes {took} each time",
        summary=f"{found.opened:,.0f} connections for {found.requests:,.0f} requests, {found.again:,.0f} of them from "
        f"an address that had opened another one within 10 s. The handshake takes a round trip of {took} before a "
        f"request can be sent: {say.percent(found.share)} of the time that clients wait. TLS adds one or two round "
        "trips.",
        onset_us=span[0],
        last_us=span[1],
        impact=report.waits(slow, found.requests, found.handshakes.quantile(1.0))
        | impact_of({CONNECTS_PER_REQUEST: found.per_request, HANDSHAKE_MS: found.median_us / 1000})
        | impact.of_cpu(snapshot),
        evidence=_evidence(found, span),
    )


def _not(found: Churn) -> str | None:
    if found.again < FEWEST or found.per_request < EACH:
        return (
            f"{say.count(found.opened, 'connection')} for {say.count(found.requests, 'request')}, {found.again:,.0f} "
            "of them from an address that had just opened another one."
        )
    if found.again < AGAIN * found.opened:
        return (
            f"{found.again:,.0f} of {found.opened:,.0f} connections came from an address that had just opened another "
            "one: most clients connect once."
        )
    if not found.handshakes.count:
        return f"{found.opened:,.0f} connections were opened, but their handshake time was not recorded."
    if found.median_us <= SLOW_US:
        return (
            f"{found.per_request:.1f} connections are opened per request, and a handshake takes "
            f"{say.ms(found.median_us)}: too short to make a request slow."
        )
    if found.share < SHARE:
        return (
            f"{found.per_request:.1f} connections are opened per request, and connecting takes "
            f"{say.percent(found.share)} of the time that a client waits."
        )
    return None


def _confidence(found: Churn) -> Confidence:
    if found.usual_us is None:
        return "low"
    return "high" if found.per_request >= 0.8 and found.opened >= 50 else "medium"


def _evidence(found: Churn, span: tuple[int, int]) -> list[Evidence]:
    server = found.at.server
    usual = found.usual_us
    return [
        Evidence(
            id="each",
            statement="Connections per request",
            value=f"{found.opened:,.0f} of {found.requests:,.0f} ({found.per_request:.2f})",
            numbers={"opened": found.opened, "requests": found.requests, "per_request": found.per_request},
            series=report.refs(span, server, "connections_opened", "requests"),
        ),
        Evidence(
            id="again",
            statement="Of these, from an address that had opened another one within 10 s",
            value=f"{found.again:,.0f} of {found.opened:,.0f}",
            numbers={"hits": found.again, "of": found.opened},
            series=report.refs(span, server, "reconnections", "connections_opened"),
        ),
        Evidence(
            id="handshake",
            statement="Handshake: median, longest",
            value=f"{say.ms(found.median_us)}, {say.ms(found.handshakes.quantile(1.0))}",
            comparison="answer time not recorded" if usual is None else f"from request to answer: {say.ms(usual)}",
            numbers=report.known(
                {"median_us": found.median_us, "longest_us": found.handshakes.quantile(1.0), "answer_us": usual}
            ),
            series=report.refs(span, server, "handshake_us", "request_latency_us"),
        ),
    ]


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    churn = read_churn(snapshot)
    fix = None if churn is None else pooling.keep_alive(churn)
    return [] if fix is None else [fix]


def _reconnected(snapshot: Snapshot) -> bool:
    return shows(snapshot.tcp_servers, "reconnections")


CAUSE = Cause(
    id=ID,
    title="A new connection for each request",
    summary="Clients open a new connection for each request, and the handshake takes as long as the request itself.",
    mechanism="A TCP handshake is a round trip before the first byte of a request can leave; TLS adds one or two. A "
    "client that reuses its connections pays that once. Between machines of one network a round trip takes 0.1 ms and "
    "hardly matters. Between zones or regions, or through a VPN, it takes tens of ms and doubles the time of each "
    "request. The server sees how long a client takes to answer its SYN-ACK, and whether the same address had opened "
    "a connection just before.",
    needs=NEEDS,
    rivals=("net/accept_queue", "net/retransmission"),
    detect=detect,
    propose=propose,
    false_positives=(
        "Many clients behind one address (a NAT, or a proxy that forwards connections) look like one client that "
        "opens new connections.",
    ),
    references=(
        "https://www.rfc-editor.org/rfc/rfc9112#section-9.3",
        "https://www.rfc-editor.org/rfc/rfc9293",
    ),
    signs=Signs(("reconnections",), _reconnected),
)
