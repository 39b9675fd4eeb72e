"""Harm from a server's trouble: late answers, lost requests, and requests that wait unread.

A server whose upstream takes 50 ms has no answer under 20 ms, and that harms no client more than usual: an answer is
late if it takes much longer than this server's other answers, or longer than the objective set for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core import late as lateness
from jitterscope.diagnosis.core.finding import Harm, Severity
from jitterscope.diagnosis.core.late import Late
from jitterscope.diagnosis.core.query_results import SERVFAIL, TIMEOUT
from jitterscope.diagnosis.core.served import Served, beyond_chance, lost, metric, read_dns, slow_of, usual_us
from jitterscope.diagnosis.core.severity import SLOW_US, harm_of, severity
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.sketch import value_of
from jitterscope.diagnosis.core.slow import beyond_objectives, loosest_us
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate


@dataclass(frozen=True, slots=True)
class AnswersHarm:
    """`late` answers took longer than `late_us` or were SERVFAIL; `inside` of them waited in the spans.

    `limits`: after how long the answers of each queried server are late. `failed` of those were SERVFAIL; `lost`: no
    answer within 5 s, of which `failed_late` got SERVFAIL afterwards.

    `waiting` queries waited unread at the same time, some of them for `waited_us`. `queries`: those since the first
    span, over at least 10 s; `timed`: the duration of their answers was recorded. `served`: the servers counted.
    """

    served: Served
    late_us: float
    late: int
    inside: int
    lost: int
    failed: int
    waiting: int
    turned_away: int
    waited_us: float
    queries: float
    max_ms: float | None
    first_late_us: int | None
    severity: Severity | None
    failed_late: int = 0
    timed: bool = False
    limits: tuple[Late, ...] = ()

    @property
    def harm(self) -> Harm:
        return harm_of(self.severity, known=self.timed and self.served.all_timed)

    @property
    def suffered(self) -> int:
        """Queries that were late, failed, were lost, or still wait because of the spans."""
        return self.inside + self.lost + self.waiting

    @property
    def failures(self) -> int:
        return self.lost + self.failed

    @property
    def over(self) -> str:
        """ "over the objective of 50 ms"; "over 20 ms, 12 times its calm median"."""
        return lateness.words(self.limits or (Late(self.late_us),))

    @property
    def briefly_over(self) -> str:
        """ "over the objective of 50 ms"; "over 20 ms"."""
        return lateness.words(self.limits or (Late(self.late_us),), brief=True)


def harm(
    snapshot: Snapshot,
    spans: BoolArray,
    late_us: float,
    *,
    served: Served | None = None,
    waiting: int = 0,
    turned_away: int = 0,
    waited_us: float = 0.0,
    made: bool = False,
) -> AnswersHarm:
    """Harm in the ticks `spans`, for the snapshot's DNS servers alone or for `served`.

    `turned_away` are attempts that never reached a server. A DNS answer is late after `late_us`, that of a TCP server
    by its baseline outside the spans, and either after the objective of its server if it has one. `made`: the trouble
    does not delay DNS answers that took less than `late_us`, whatever their objective.
    """
    served = served or read_dns(snapshot)
    hit = np.flatnonzero(spans)
    since = min(int(hit[0]) if len(hit) else 0, max(0, snapshot.ticks - 100))
    queries = float(np.nansum(served.requests[since:]))
    late = inside = gone = failed = 0
    suffered = 0.0
    limits: list[Late] = []
    max_ms: float | None = None
    first: int | None = None
    for server in served.servers:
        limit = _limit(server, usual_us(server, ~spans), late_us, made=made)
        limits.append(limit)
        over = limit.over_us
        counted = _single(snapshot, server, spans, over) or _counted(snapshot, server, spans, over)
        late, inside, gone, failed = (a + b for a, b in zip((late, inside, gone, failed), counted[:4], strict=True))
        if server.kind == "dns_server":
            suffered += counted[1]
        else:
            requests = series(server, metric(server, "requests"), snapshot.ticks)
            suffered += beyond_chance(requests, dilate(spans, 0, 1), counted[1], counted[0] - counted[1])
        if counted[4] is not None:
            max_ms = max(max_ms or 0.0, counted[4] / 1000)
        if counted[5] is not None:
            first = counted[5] if first is None else min(first, counted[5])
    worst = max(max_ms or 0.0, waited_us / 1000 if waiting or turned_away else 0.0)
    if queries > 0:
        suffered = failed + beyond_objectives(snapshot, limits, served, suffered - failed, since)
        hurt = min(suffered + waiting + turned_away, queries + turned_away)
        bad_us = loosest_us([one for one in limits if one.objective])
        level = severity(hurt, queries + turned_away, worst or None, gone + failed, bad_us)
    else:
        # No packets are captured here, but waiting connections are seen all the same.
        level = "warning" if waiting >= 5 else None
    of_dns = [one.over_us for one, server in zip(limits, served.servers, strict=True) if server.kind == "dns_server"]
    return AnswersHarm(
        served, max(of_dns, default=late_us), late, inside, gone, failed, waiting, turned_away, waited_us, queries,
        max_ms, first, level,
        min(gone, _failed_late(snapshot, spans)), queries > 0 and served.timed,
        tuple(one for one, server in zip(limits, served.servers, strict=True) if _asked(snapshot, server)),
    )  # fmt: skip


def _limit(server: ResourceView, usual: float | None, late_us: float, *, made: bool) -> Late:
    if server.kind != "dns_server":
        return lateness.late(server, usual)
    found = lateness.late(server, usual, late_us)
    return Late(late_us, usual) if made and found.over_us < late_us else found


def _asked(snapshot: Snapshot, server: ResourceView) -> bool:
    return bool(np.nansum(series(server, metric(server, "requests"), snapshot.ticks)) > 0)


def _failed_late(snapshot: Snapshot, spans: BoolArray) -> int:
    """SERVFAIL answers that came after their query had been given up; 0 if not counted."""
    # A forwarder gives its upstream 5 s; queries that wait for it fail shortly after.
    near = dilate(spans, 0, 81)
    counted = (series(server, "dns_late_servfail", snapshot.ticks) for server in snapshot.dns_servers)
    return int(sum(float(np.nansum(values[near])) for values in counted))


_Counts = tuple[int, int, int, int, float | None, int | None]


def _single(snapshot: Snapshot, server: ResourceView, spans: BoolArray, late_us: float) -> _Counts | None:
    """From single queries of a DNS server: those over 20 ms are always kept."""
    queries = server.queries
    if server.kind != "dns_server" or late_us < SLOW_US or queries is None or not len(queries.sent_us):
        return None
    sent, took = queries.sent_us, queries.latency_us
    count = np.concatenate([[0], np.cumsum(spans)])
    first = np.clip((sent - snapshot.start_us) // snapshot.step_us, 0, snapshot.ticks - 1)
    last = np.clip((sent + took - snapshot.start_us) // snapshot.step_us, 0, snapshot.ticks - 1)
    overlap = count[last + 1] - count[first] > 0
    gone = queries.result == TIMEOUT
    failed = queries.result == SERVFAIL
    late = ((took > late_us) & ~gone) | failed
    hurt = late & overlap
    return (
        int(late.sum()), int(hurt.sum()), int((gone & overlap).sum()), int((failed & overlap).sum()),
        float(took[hurt].max()) if hurt.any() else None, int(sent[hurt][0]) if hurt.any() else None,
    )  # fmt: skip


def _counted(snapshot: Snapshot, server: ResourceView, spans: BoolArray, late_us: float) -> _Counts:
    """From histograms and counters, by the tick in which the answer left."""
    near = dilate(spans, 0, 1)
    part = server.distributions.get(metric(server, "latency"))
    late = inside = 0
    peak: float | None = None
    if part is not None:
        over = value_of(part.bucket) > late_us
        late, inside = int(part.count[over].sum()), int(part.count[over & near[part.tick]].sum())
        values = value_of(part.bucket)[over & near[part.tick]]
        peak = float(values.max()) if len(values) else None
    else:
        slow = np.nan_to_num(slow_of(snapshot, server, late_us))
        late, inside = int(slow.sum()), int(slow[near].sum())
    # A query counts as lost 5 s after it was sent.
    after = dilate(spans, 0, 51)
    failed = int(np.nan_to_num(series(server, "dns_servfail", snapshot.ticks))[after].sum())
    return late, inside, lost(snapshot, server, after), failed, peak, None
