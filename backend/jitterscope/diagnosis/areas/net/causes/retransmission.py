"""Segments of answers are lost on the way, and clients wait until they are sent again."""

from __future__ import annotations

from jitterscope.diagnosis.areas.net.causes import _report as report
from jitterscope.diagnosis.areas.net.fixes import path
from jitterscope.diagnosis.areas.net.quantities import RESENT_LATE_RATIO
from jitterscope.diagnosis.areas.net.readings.connections import DELAYS, missing
from jitterscope.diagnosis.areas.net.readings.resends import ORDINARY, Resends, read_resends
from jitterscope.diagnosis.core import impact, missing_data
from jitterscope.diagnosis.core import late as lateness
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound, Severity
from jitterscope.diagnosis.core.quantity import impact_of
from jitterscope.diagnosis.core.severity import harm_of, lowered, severity
from jitterscope.diagnosis.core.signs import Signs, shows
from jitterscope.diagnosis.core.slow import loosest_us
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "net/retransmission"
NEEDS = ("retransmits", "requests")
# Up to that many times the usual loss is about as much as always.
ABOUT = 1.5


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    gone = missing(snapshot, NEEDS)
    found = read_resends(snapshot)
    if gone or found is None:
        return missing_data.not_enough(ID, gone or ["retransmits"], snapshot)
    numbers = {
        "resent": found.resent, "late": float(found.late.count), "handshakes": float(found.handshakes.count),
        "requests": found.requests, "too_soon": float(found.too_soon),
    }  # fmt: skip
    level = _level(found)
    if level is None:
        return NotFound(cause=ID, reason=_harmless(found), numbers=numbers)
    span = report.extent(snapshot, found.ticks())
    return Found(
        cause=ID,
        score=round(0.5 + 0.3 * min(1.0, 20 * found.suffered / max(1.0, found.requests)) + 0.1 * (level != "info"), 4),
        confidence=_confidence(found),
        severity=level,
        harm=harm_of(level, known=True),
        title=_title(say.who(snapshot), found),
        summary=f"{_summary(found)} {_where(found)} This adds to the server's own latency. Requests and SYNs that were "
        "lost before they reached this node are not seen here.",
        onset_us=span[0],
        last_us=span[1],
        impact=report.waits(found.suffered, found.requests, found.longest_us, [found.limit])
        | impact_of({RESENT_LATE_RATIO: min(1.0, found.late.count / max(1.0, found.requests))})
        | impact.of_cpu(snapshot),
        evidence=_evidence(found, span),
    )


def _level(found: Resends) -> Severity | None:
    """To distant clients some loss is ordinary, and as much as always is not critical.

    Where nobody knows how far clients are, the same loss may be a fault of the own network, but is not critical.
    """
    if found.near:
        return _severity(found, found.harmed)
    if found.near is None:
        level, worst = _severity(found, found.harmed), _severity(found, found.beyond(ORDINARY))
    else:
        level = _severity(found, found.beyond(ORDINARY))
        worst = _severity(found, found.beyond(max(ORDINARY, ABOUT * found.usual)))
    return "warning" if level == "critical" and worst != "critical" else level


def _severity(found: Resends, harmed: float) -> Severity | None:
    objective_us = loosest_us([found.limit] if found.limit.objective else [])
    return severity(harmed, max(found.requests, found.suffered), found.longest_us / 1000, objective_us=objective_us)


def _title(name: str, found: Resends) -> str:
    clients = "distant clients" if found.near is False else "clients"
    if found.late.count:
        return (
            f"{name}: {say.count(found.late.count, 'answer')} reached {clients} up to {say.ms(found.longest_us)} late "
            "because segments were lost and retransmitted"
        )
    waited = say.count(found.handshakes.count, "connection")
    of = " of distant clients" if found.near is False else ""
    return f"{name}: {waited}{of} waited 1 s or more because SYN-ACKs were retransmitted"


def _where(found: Resends) -> str:
    """How far clients are, and what that says about the loss."""
    if found.trip_us is None:
        return (
            "How far away the clients are is not known: too few connections were opened. Over the internet, "
            f"{say.percent(ORDINARY)} would be ordinary."
        )
    trip = f"9 of 10 connections took up to {say.ms(found.trip_us)} to set up"
    if found.near:
        return f"Clients are near: {trip}. Networks that short hardly lose anything."
    usual = f"; in half of the window it was {say.percent(found.usual)} or more" if found.usual > ORDINARY else ""
    return (
        f"Clients are distant: {trip}. Over the internet, {say.percent(ORDINARY)} of late answers are ordinary{usual}."
    )


def _harmless(found: Resends) -> str:
    if found.near is False and _severity(found, found.harmed) is not None:
        return (
            f"{say.count(found.late.count, 'answer')} of {found.requests:,.0f} and "
            f"{say.count(found.handshakes.count, 'connection')} were late because of a retransmission. {_where(found)}"
        )
    if not found.resent and not found.handshakes.count:
        return f"0 segments were retransmitted for {say.count(found.requests, 'request')}."
    resent, handshakes = say.count(found.resent, "segment"), say.count(found.handshakes.count, "SYN-ACK")
    return (
        f"{resent} with data and {handshakes} were retransmitted for {say.count(found.requests, 'request')}. This "
        f"delayed {say.count(found.late.count, 'answer')} by over "
        f"{say.ms(found.limit.over_us)}.{lateness.allowance([found.limit])}{_too_soon(found)}"
    )


def _too_soon(found: Resends) -> str:
    if not found.too_soon:
        return ""
    return (
        f" {say.count(found.too_soon, 'answer')} more waited for a timer, most of them less than 200 ms: too short to "
        "tell a loss from a late acknowledgment."
    )


def _summary(found: Resends) -> str:
    parts = []
    if found.late.count:
        parts.append(
            f"{found.late.count:,} of {found.requests:,.0f} answers had to be retransmitted and reached their clients "
            f"{say.ms(found.late.quantile(0.5))} late (median), {say.ms(found.longest_us)} at most"
        )
    if found.handshakes.count:
        many = say.count(found.handshakes.count, "connection")
        parts.append(f"{many} took 1 s or more because the SYN-ACK had to be retransmitted")
    return "; ".join(parts) + "." + lateness.allowance([found.limit] if found.late.count else [])


def _confidence(found: Resends) -> Confidence:
    level: Confidence = "high" if found.late.count >= 10 else "medium" if found.late.count >= 3 else "low"
    return lowered(level, int(found.near is None))


def _evidence(found: Resends, span: tuple[int, int]) -> list[Evidence]:
    server = found.at.server
    evidence = [
        Evidence(
            id="resent",
            statement="Retransmitted segments with data",
            value=f"{found.resent:,.0f}",
            comparison=f"for {say.count(found.requests, 'request')}",
            numbers={"resent": found.resent, "requests": found.requests},
            series=report.refs(span, server, "retransmits", "responses"),
        )
    ]
    if found.late.count:
        evidence.append(
            Evidence(
                id="late",
                statement=f"Answers that reached clients over {say.ms(found.limit.over_us)} late because of it",
                value=f"{found.late.count:,}",
                comparison=f"median {say.ms(found.late.quantile(0.5))}, longest {say.ms(found.longest_us)}",
                numbers={
                    "hits": float(found.late.count), "of": found.requests, "median_us": found.late.quantile(0.5),
                    "longest_us": found.longest_us,
                },
                series=report.refs(span, server, *DELAYS),
            )
        )  # fmt: skip
        evidence.append(
            Evidence(
                id="timer",
                statement="Of these, 200 ms late or more",
                value=f"{found.long:,} of {found.late.count:,}",
                comparison="the retransmission timer starts at 200 ms and doubles each time"
                + (f"; {found.at_once:,} did not wait for it (fast retransmit)" if found.at_once else ""),
                numbers={"hits": float(found.long), "of": float(found.late.count), "at_once": float(found.at_once)},
                series=report.refs(span, server, *DELAYS),
            )
        )
    if found.trip_us is not None:
        evidence.append(
            Evidence(
                id="distance",
                statement="Time in which 9 of 10 connections were set up: one round trip to their clients",
                value=say.ms(found.trip_us),
                comparison="near: hardly anything is lost on such a way" if found.near
                else f"distant: over the internet, {say.percent(ORDINARY)} of late answers are ordinary",
                numbers={"trip_us": found.trip_us, "usual_late_ratio": found.usual},
                series=report.refs(span, server, "handshake_us"),
            )
        )  # fmt: skip
    evidence.append(
        Evidence(
            id="handshakes",
            statement="Connections that took 1 s or more because their SYN-ACK was retransmitted",
            value=f"{found.handshakes.count:,}",
            comparison="not counted where the accept queue was full",
            numbers={"handshakes": float(found.handshakes.count)},
            series=report.refs(span, server, "handshake_us", "synack_retransmits"),
        )
    )
    return evidence


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    resends = read_resends(snapshot)
    return [] if resends is None else path.propose(snapshot, found, resends)


def _sent_again(snapshot: Snapshot) -> bool:
    return shows(snapshot.tcp_servers, *_SIGNS)


_SIGNS = ("retransmits", "synack_retransmits")
CAUSE = Cause(
    id=ID,
    title="Lost TCP segments delay answers",
    summary="Segments of answers are lost on the way. Their clients wait until the kernel retransmits them: 200 ms or "
    "more, or a round trip.",
    mechanism="TCP retransmits a segment that is not acknowledged in time. An answer that fits into one segment has "
    "nothing behind it that would reveal the gap, so only the timer notices its loss: after at least 200 ms, then 400 "
    "ms and 800 ms, twice as long each time. If the client has received what came after the segment, its "
    "acknowledgments show the gap, and the kernel retransmits at once: after about a round trip, which matters only to "
    "distant clients. SYN-ACKs wait for 1 s. The program does not notice, and its own latency "
    "does not change. The kernel reports each retransmission (tcp:tcp_retransmit_skb), and the delay is counted from "
    "when the data were first sent. Segments lost on the way to the server are not seen: the figures are a lower "
    "bound of what clients wait. Networks of a data center hardly lose anything. Over the internet, and to phones, 6 % "
    "of late answers are ordinary: if one of ten connections takes 10 ms or more to set up, only what exceeds that "
    "counts.",
    needs=NEEDS,
    rivals=("net/accept_queue", "net/connect_churn"),
    detect=detect,
    propose=propose,
    false_positives=(
        "A client whose machine stalls acknowledges nothing: then its kernel is late, not the path.",
        "A path that occasionally delays packets by more than 200 ms makes the timer expire although nothing is lost.",
        "Segments that overtake each other on a long way are retransmitted although nothing is lost.",
    ),
    references=(
        "https://www.rfc-editor.org/rfc/rfc6298",
        "https://www.rfc-editor.org/rfc/rfc8985",
        "https://docs.kernel.org/networking/snmp_counter.html",
        "https://research.google/pubs/proportional-rate-reduction-for-tcp/",
    ),
    signs=Signs(_SIGNS, _sent_again),
)
