"""Late answers that no other cause explains: where their time went, and what was ruled out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from jitterscope.diagnosis.areas.unexplained.causes import _missed
from jitterscope.diagnosis.areas.unexplained.causes import _report as report
from jitterscope.diagnosis.areas.unexplained.causes._case import Case
from jitterscope.diagnosis.areas.unexplained.fixes import look, sources
from jitterscope.diagnosis.areas.unexplained.readings.objectives import missed
from jitterscope.diagnosis.areas.unexplained.readings.stalls import stalls, timed
from jitterscope.diagnosis.areas.unexplained.readings.waiting import waiting
from jitterscope.diagnosis.areas.unexplained.readings.whereabouts import ASLEEP, Account, accounts
from jitterscope.diagnosis.core import impact
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Fix, Found, NotFound, Result, Severity
from jitterscope.diagnosis.core.late import Late
from jitterscope.diagnosis.core.missing_data import not_enough
from jitterscope.diagnosis.core.served import METRICS, metrics, read_served
from jitterscope.diagnosis.core.severity import severity
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.slow import beyond_objectives, limits, loosest_us, may_be_late
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "unexplained/slow_answers"
# A finding covers late answers from so long before its first symptom until so long after its last one.
MARGIN_US = 1_000_000


def detect(snapshot: Snapshot) -> Result:
    return after_all(snapshot, ())


def after_all(snapshot: Snapshot, others: Sequence[Result]) -> Result:
    """What harm the findings of other causes leave."""
    if not timed(snapshot):
        return not_enough(ID, _gone(snapshot), snapshot)
    told = _stalls(snapshot, others)
    if isinstance(told, NotFound) and not any(isinstance(one, Found) and one.severity is not None for one in others):
        return next((_missed.found(ID, snapshot, one) for one in missed(snapshot)), told)
    return told


def _stalls(snapshot: Snapshot, others: Sequence[Result]) -> Found | NotFound:
    found = stalls(snapshot)
    numbers = {"late": float(found.late), "answers": found.answers, "stalls": float(len(found.clear))}
    if not found.clear:
        why = "the newest stall is still left to other causes" if found.young else "none in a stall that stands out"
        took = f"{found.late:,} of {found.answers:,.0f} answers took {found.over}"
        return NotFound(cause=ID, reason=f"{took}: {why}.", numbers=numbers)
    harmful = [one for one in others if isinstance(one, Found) and one.severity is not None]
    left = [one for one in accounts(snapshot) if not any(_covers(finding, one) for finding in harmful)]
    late, explained = sum(one.late for one in found.clear), sum(one.late for one in found.clear)
    explained -= sum(one.stall.late for one in left)
    numbers |= {"late_in_stalls": float(late), "explained": float(explained)}
    level, since = _severity(snapshot, left)
    if level is None:
        if explained:
            reason = f"{explained:,} of {late:,} late answers have a cause: {harmful[0].title}."
        else:
            reason = f"{late:,} of {since:,.0f} {read_served(snapshot).noun} were late in stalls: too few."
        return NotFound(cause=ID, reason=reason, numbers=numbers)
    if level != "critical" and all(one.may_be_crowded for one in left):
        reason = (
            f"{late - explained:,} answers were late in stalls that CPU waits might have caused: the node had no idle "
            "CPU, or its idle CPU is not recorded."
        )
        return NotFound(cause=ID, reason=reason, numbers=numbers)
    return _found(snapshot, left, level, since)


def _gone(snapshot: Snapshot) -> list[str]:
    """What would time answers, of the kinds of servers that there are."""
    kinds = {server.kind for server in read_served(snapshot).servers} or {"dns_server", "tcp_server"}
    return [METRICS[figure][kind] for kind in sorted(kinds) for figure in ("answers", "latency")]


def _covers(found: Found, account: Account) -> bool:
    """Whether a finding is about the time of a stall, or about the same limit that held the program back."""
    stall = account.stall
    about_it = found.onset_us - MARGIN_US <= stall.end_us and stall.start_us <= found.last_us + MARGIN_US
    return about_it or (account.where == "throttled" and (impact.THROTTLED_RATIO.of(found.impact) or 0.0) > 0)


def _severity(snapshot: Snapshot, left: Sequence[Account]) -> tuple[Severity | None, float]:
    """How bad the stalls are, "warning" at least, and the requests since the first of them, over 10 s at least."""
    first = min((one.stall.start_us for one in left), default=snapshot.end_us)
    since = min((first - snapshot.start_us) // snapshot.step_us, max(0, snapshot.ticks - 100))
    requests = float(np.nansum(read_served(snapshot).requests[since:]))
    late = sum(one.stall.late for one in left)
    served, limits = read_served(snapshot), _limits(snapshot)
    beyond = beyond_objectives(snapshot, limits, served, float(late), since)
    bad_us = loosest_us([one for one in limits if one.objective])
    worst = max((one.stall.max_us / 1000 for one in left), default=None)
    level = severity(min(beyond, requests), requests, worst, objective_us=bad_us)
    return (None if level == "info" else level), requests


def _limits(snapshot: Snapshot) -> tuple[Late, ...]:
    return limits(snapshot, read_served(snapshot).servers, np.ones(snapshot.ticks, np.bool_))


def _found(snapshot: Snapshot, left: Sequence[Account], level: Severity, since: float) -> Found:
    weights: Counter[str] = Counter()
    for one in left:
        weights[one.where] += one.stall.late
    where, most = weights.most_common(1)[0]
    case = Case(snapshot, tuple(left), tuple(one for one in left if one.where == where), most / weights.total(), since)
    return Found(
        cause=ID,
        # What is explained comes first.
        score=0.2,
        confidence=case.confidence,
        severity=level,
        harm="measured",
        title=report.title(case),
        summary=report.summary(case),
        onset_us=case.start_us,
        last_us=min(case.end_us, snapshot.end_us),
        impact=impact.of_answers(
            snapshot, read_served(snapshot), case.late, case.max_us / 1000, stalls(snapshot).limits
        )
        | impact.of_cpu(snapshot),
        evidence=report.evidence(case),
    )


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    own = [one for one in accounts(snapshot) if found.onset_us <= one.stall.start_us < found.last_us]
    if not own:
        return [
            fix for one in missed(snapshot)[:1]
            for fix in (*look.propose(snapshot, one.server, "unknown"), *sources.propose(snapshot, one.server))
        ]  # fmt: skip
    places = Counter({one.where: 0 for one in own})
    for one in own:
        places[one.where] += one.stall.late
    ((where, _),) = places.most_common(1)
    main = [one.stall for one in own if one.where == where]
    server = max(main, key=lambda one: one.max_us).server
    seen = waiting(snapshot, [one for one in main if one.server.id == server.id]) if where in ASLEEP else None
    return [*look.propose(snapshot, server, where, seen), *sources.propose(snapshot, server)]


def _late_at_all(snapshot: Snapshot) -> bool:
    return any(may_be_late(snapshot, one) for one in (*snapshot.dns_servers, *snapshot.tcp_servers))


CAUSE = Cause(
    id=ID,
    title="Slow answers without a known cause",
    summary="Many answers were late at once, and no known cause explains the stall.",
    mechanism="If at least a fifth of the requests that arrive wait at the same time, and more than by chance, the "
    "server stalled: it was stopped, waited for a lock, a disk, or another server, or ran something else. What is "
    "recorded meanwhile shows where the time went: how long requests waited unread in the socket, the CPU time of the "
    "program, how long its threads were ready to run, whether its limit throttled it, and what its threads waited in: "
    "the flight recorder reads that while a server owes answers and gives none for 30 ms. Late means over the "
    "server's objective where one is set, otherwise over 20 ms and over three times its median. An objective that is "
    "missed without any stall is reported too. A program that starts is slow for reasons of its own until it has been "
    "calm for 10 s: for 30 s at most, or 3 min while its CPU limit throttles it. Stalls in which the JIT compiler of a "
    "JVM uses up the limit belong to its start for 3 min. A stall is judged 5 s after its end, or once it lasts 10 s: "
    "until then other causes take precedence, and a stall that one of them explains becomes an incident of that cause.",
    needs=(),
    rivals=(),
    detect=detect,
    after_all=after_all,
    propose=propose,
    false_positives=(
        "Many requests that are slow by nature and arrive together, such as a report every minute, look like a stall: "
        "the program works on them, or waits for what they need from another server.",
        "A stall during an incident of another cause is counted toward that cause.",
    ),
    references=(
        "https://docs.kernel.org/scheduler/sched-stats.html",
        "https://docs.kernel.org/accounting/psi.html",
    ),
    signs=Signs(metrics("slow", "latency"), _late_at_all),
)
