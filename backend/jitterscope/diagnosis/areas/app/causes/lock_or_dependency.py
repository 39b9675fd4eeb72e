"""A server answers late because it waits for another server that is itself slow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitterscope.diagnosis.areas.app.causes import _report as report
from jitterscope.diagnosis.areas.app.fixes import upstream as fixes
from jitterscope.diagnosis.areas.app.readings.calls import Late, Waits, read_late, read_waits
from jitterscope.diagnosis.core import impact, slow
from jitterscope.diagnosis.core import late as lateness
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.missing_data import not_enough
from jitterscope.diagnosis.core.served import metrics, read_served, slow_of
from jitterscope.diagnosis.core.severity import SLOW_US, lowered, severity
from jitterscope.diagnosis.core.signals import has
from jitterscope.diagnosis.core.signs import Signs, shows
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "app/lock_or_dependency"
NEEDS = ("responses_slow", "upstream_calls")
# Of the late answers: fewer have something else in common.
MOST = 0.5
# The server itself had so many of the long answers that its callers saw: it took the time. Or so few: the way did.
AGREES, CONTRADICTS = 0.5, 0.1
FEW = 10
# Where long calls are under way for more of the time, that they fall together with late answers says little.
RARE = 0.25


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    gone = [] if any(has(one, "responses_slow") for one in snapshot.tcp_servers) else ["responses_slow"]
    # A server that asks nobody looks like one whose calls are not timed: neither is ruled out.
    gone += [] if any(has(one, "upstream_calls") for one in snapshot.tcp_upstreams) else ["upstream_calls"]
    if gone:
        return not_enough(ID, gone, snapshot)
    late, waits = read_late(snapshot), read_waits(snapshot)
    if not len(late):
        if (counted := _counted_late(snapshot, late)) > 0:
            reason = f"{counted:,.0f} answers took over {say.ms(late.late_us)}, but none of them was kept."
            return NotEnoughData(cause=ID, missing=["responses_slow"], reason=reason)
        return NotFound(cause=ID, reason=f"No answer took over {say.ms(late.late_us)}.", numbers={"late": 0.0})
    if not waits:
        own = "It calls no servers other than its own."
        return NotFound(cause=ID, reason=own, numbers={"upstreams": float(len(snapshot.tcp_upstreams))})
    first = waits[0]
    numbers = {"hits": float(first.hits), "late": float(len(late)), "long_calls": float(first.long)}
    if first.hits < MOST * len(late):
        calls = sum(one.calls for one in waits)
        return NotFound(
            cause=ID,
            reason=f"{first.hits:,} of {len(late):,} late answers spent most of their time waiting for another server: "
            f"{sum(one.long for one in waits):,} of {calls:,.0f} calls took over {say.ms(first.long_us)}.",
            numbers=numbers,
        )
    account = first.account
    if account is not None and account.long < CONTRADICTS * first.long:
        return NotFound(
            cause=ID,
            reason=f"{first.long:,} calls to {first.address} took over {say.ms(first.long_us)}, but the server behind "
            f"it started {account.long:,.0f} answers late: the time passed on the way.",
            numbers=numbers | {"answers": account.long},
        )
    return _found(snapshot, late, first)


def _counted_late(snapshot: Snapshot, late: Late) -> float:
    """Late answers by the counters of the servers of which no single request was kept."""
    unkept = [one for one in late.servers if one.queries is None or not len(one.queries.sent_us)]
    return float(sum(np.nansum(slow_of(snapshot, one, late.late_us)) for one in unkept))


def _found(snapshot: Snapshot, late: Late, waits: Waits) -> Found | NotFound:
    hit = waits.hit
    start, end = int(late.start_us[hit].min()), int(late.end_us[hit].max())
    served = read_served(snapshot)
    since = max(0, min((start - snapshot.start_us) // snapshot.step_us, snapshot.ticks - 100))
    requests = float(np.nansum(served.requests[since:]))
    max_ms = float((late.end_us - late.start_us)[hit].max()) / 1000
    lost = int((hit & late.gone).sum())
    limits = slow.limits(snapshot, served.servers, np.ones(snapshot.ticks, np.bool_))
    beyond = lost + slow.beyond_objectives(snapshot, limits, served, float(waits.hits - lost), since)
    bad_us = slow.loosest_us([one for one in limits if one.objective])
    level = severity(min(beyond, requests), requests, max_ms, lost, bad_us)
    if level is None:
        allowance = lateness.allowance(limits)
        reason = f"{waits.hits:,} of {requests:,.0f} requests waited for {waits.address}: too few.{allowance}"
        return NotFound(cause=ID, reason=reason, numbers={"hits": float(waits.hits), "requests": requests})
    return Found(
        cause=ID,
        score=round(0.5 + 0.3 * waits.hits / len(late) + 0.2 * (waits.within / max(1, waits.hits)), 4),
        confidence=_confidence(late, waits),
        severity=level,
        harm="measured",
        title=report.title(snapshot, late, waits),
        summary=report.summary(late, waits),
        onset_us=start,
        last_us=end,
        upstream=waits.address,
        impact=impact.of_answers(snapshot, served, waits.hits, max_ms, _counted(limits)) | impact.of_cpu(snapshot),
        evidence=report.evidence(snapshot, late, waits),
    )


def _counted(limits: Sequence[lateness.Late]) -> list[lateness.Late]:
    """By what the late answers were counted: see `read_late`."""
    return [one if one.over_us >= SLOW_US else lateness.Late(SLOW_US, one.usual_us) for one in limits]


def _confidence(late: Late, waits: Waits) -> Confidence:
    """A step less where the server's own account is not known or names fewer long answers, and where little is seen."""
    account = waits.account
    unsure = account is None or account.long < AGREES * waits.long
    little = waits.hits < FEW or waits.hits < 0.7 * len(late)
    crowded = waits.within < MOST * waits.hits and waits.open_ratio > RARE
    return lowered("high", int(unsure) + int(little) + int(crowded))


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    waits = next((one for one in read_waits(snapshot) if one.address == found.upstream), None)
    return [] if waits is None else fixes.propose(found, waits)


def _shown(snapshot: Snapshot) -> bool:
    return shows(snapshot.tcp_servers, "responses_slow")


CAUSE = Cause(
    id=ID,
    title="A server that it calls is slow",
    summary="Answers are late because the program waits for another server that is slow itself.",
    mechanism="A service that calls a database, a cache, or another service while it answers is as slow as that one. "
    "The collector times each call at the caller's end of the connection, from the packet that completes the request "
    "to the first data of the answer: a caller that is throttled, collects garbage, or is busy does not lengthen it. "
    "Found where most late answers waited for long calls to one address for 60 % of their time or more: they span "
    "calls of their own, or arrived while such calls, otherwise rare, were in flight and held a connection or a lock "
    "that they needed. If the server behind the address runs on the same node, its own record of its answers must "
    "agree: otherwise the time passed on the network. A lock inside the program is not a call: it stays with the slow "
    "answers without a known cause.",
    needs=NEEDS,
    rivals=("cpu/event_loop_blocked", "cpu/gc_throttling", "cpu/limit_too_low", "cpu/neighbours", "runtime/gc_pause"),
    # What keeps the caller from running does not lengthen its calls.
    excludes=("cpu/event_loop_blocked", "cpu/gc_throttling", "cpu/limit_too_low", "cpu/neighbours", "runtime/gc_pause"),
    detect=detect,
    propose=propose,
    false_positives=(
        "Requests that ask for something large are slow by nature, also in the server that is called.",
        "Of several concurrent requests on one connection (HTTP/2, pipelining), the first answer counts for all: "
        "calls look shorter than they are.",
        "Calls over Unix sockets and UDP are not seen.",
    ),
    references=(
        "https://www.postgresql.org/docs/current/explicit-locking.html",
        "https://sre.google/sre-book/addressing-cascading-failures/",
    ),
    looks_like_freezes=True,
    signs=Signs(metrics("slow"), _shown),
)
