"""Who was hurt by trouble of a DNS server: late answers, lost queries, and queries that nobody works on yet.

A server whose upstream takes 50 ms has no answer under 20 ms, and that hurts nobody more than usual: late is what takes
much longer than this server's answers do otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.finding import Harm, Severity
from jitterscope.diagnosis.core.query_results import SERVFAIL, TIMEOUT
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.severity import SLOW_US, harm_of, severity
from jitterscope.diagnosis.core.signals import has, read_dns, series
from jitterscope.diagnosis.core.sketch import quantile_us, value_of
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate

TIMES_USUAL = 3.0
ENOUGH = 20


@dataclass(frozen=True, slots=True)
class DnsHarm:
    """`late` answers took over `late_us` or were SERVFAIL; `inside` of them waited in the spans.

    `failed` of those were SERVFAIL; `lost`: no answer within 5 s, of which `failed_late` got SERVFAIL afterwards.

    `waiting` queries had nobody to work on them at the same time, some of them for `waited_us`. `queries`: those since
    the first span, over 10 s at least; `timed`: how long their answers took was recorded.
    """

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

    @property
    def harm(self) -> Harm:
        return harm_of(self.severity, known=self.timed)

    @property
    def suffered(self) -> int:
        """Queries that came late, failed, got lost or still wait because of the spans."""
        return self.inside + self.lost + self.waiting

    @property
    def failures(self) -> int:
        return self.lost + self.failed


@reading
def answers_timed(snapshot: Snapshot) -> bool:
    """Whether queries of a DNS server of the subject and their late answers were counted: else harm is unknown."""
    return any(
        np.nansum(series(server, "dns_queries", snapshot.ticks)) > 0
        and (has(server, "dns_slow") or "dns_latency_us" in server.distributions or server.queries is not None)
        for server in snapshot.dns_servers
    )


def usual_us(server: ResourceView, outside: BoolArray) -> float | None:
    """Median time to the answer in the ticks `outside`; None with fewer than 20 answers there."""
    part = server.distributions.get("dns_latency_us")
    if part is None:
        return None
    chosen = outside[part.tick]
    bucket, count = part.bucket[chosen], part.count[chosen]
    if count.sum() < ENOUGH:
        return None
    order = np.argsort(bucket, kind="stable")
    middle = int(np.searchsorted(np.cumsum(count[order]), count.sum() / 2))
    return float(value_of(bucket[order][middle : middle + 1])[0])


def late_after(usual: float | None) -> float:
    """From when on an answer is late (µs), at this usual time."""
    return max(float(SLOW_US), TIMES_USUAL * (usual or 0.0))


def harm(
    snapshot: Snapshot,
    spans: BoolArray,
    late_us: float,
    *,
    waiting: int = 0,
    turned_away: int = 0,
    waited_us: float = 0.0,
) -> DnsHarm:
    """Of the snapshot's servers, in the ticks `spans`; `turned_away` are attempts that never reached a server."""
    hit = np.flatnonzero(spans)
    since = min(int(hit[0]) if len(hit) else 0, max(0, snapshot.ticks - 100))
    asked = read_dns(snapshot).queries
    queries = float(np.nansum(asked[since:]))
    late = inside = lost = failed = 0
    max_ms: float | None = None
    first: int | None = None
    for server in snapshot.dns_servers:
        counted = _single(snapshot, server, spans, late_us) or _counted(snapshot, server, spans, late_us)
        late, inside, lost, failed = (a + b for a, b in zip((late, inside, lost, failed), counted[:4], strict=True))
        if counted[4] is not None:
            max_ms = max(max_ms or 0.0, counted[4] / 1000)
        if counted[5] is not None:
            first = counted[5] if first is None else min(first, counted[5])
    worst = max(max_ms or 0.0, waited_us / 1000 if waiting or turned_away else 0.0)
    if queries > 0:
        hurt = min(inside + waiting + turned_away, queries + turned_away)
        level = severity(hurt, queries + turned_away, worst or None, lost + failed)
    else:
        # No packets are captured here: connections that wait are seen all the same.
        level = "warning" if waiting >= 5 else None
    return DnsHarm(
        late_us, late, inside, lost, failed, waiting, turned_away, waited_us, queries, max_ms, first, level,
        min(lost, _failed_late(snapshot, spans)), queries > 0 and answers_timed(snapshot),
    )  # fmt: skip


def _failed_late(snapshot: Snapshot, spans: BoolArray) -> int:
    """SERVFAIL answers that came after their query had been given up; 0 where nobody counted them."""
    # A forwarder gives its upstream 5 s; what waits for it fails just after.
    near = dilate(spans, 0, 81)
    counted = (series(server, "dns_late_servfail", snapshot.ticks) for server in snapshot.dns_servers)
    return int(sum(float(np.nansum(values[near])) for values in counted))


_Counts = tuple[int, int, int, int, float | None, int | None]


def _single(snapshot: Snapshot, server: ResourceView, spans: BoolArray, late_us: float) -> _Counts | None:
    """From single queries: those over 20 ms are always kept."""
    queries = server.queries
    if queries is None or not len(queries.sent_us):
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
    part = server.distributions.get("dns_latency_us")
    late = inside = 0
    peak: float | None = None
    if part is not None:
        over = value_of(part.bucket) > late_us
        late, inside = int(part.count[over].sum()), int(part.count[over & near[part.tick]].sum())
        values = value_of(part.bucket)[over & near[part.tick]]
        peak = float(values.max()) if len(values) else None
    else:
        slow = np.nan_to_num(series(server, "dns_slow", snapshot.ticks))
        late, inside = int(slow.sum()), int(slow[near].sum())
    lost = int(np.nan_to_num(series(server, "dns_timeouts", snapshot.ticks))[dilate(spans, 0, 51)].sum())
    failed = int(np.nan_to_num(series(server, "dns_servfail", snapshot.ticks))[dilate(spans, 0, 51)].sum())
    return late, inside, lost, failed, peak, None


@reading
def quantiles_ms(snapshot: Snapshot) -> tuple[float | None, float | None]:
    """(p50, p99) over all servers: from histograms, else from single queries where all of them were kept."""
    parts = [
        server.distributions["dns_latency_us"]
        for server in snapshot.dns_servers
        if "dns_latency_us" in server.distributions
    ]
    if parts:
        bucket = np.concatenate([part.bucket for part in parts])
        count = np.concatenate([part.count for part in parts])
        values = [quantile_us(bucket, count, q) for q in (0.5, 0.99)]
        return tuple(value / 1000 if np.isfinite(value) else None for value in values)  # type: ignore[return-value]
    complete = [
        server.queries.latency_us
        for server in snapshot.dns_servers
        if server.queries is not None
        and any(low <= snapshot.start_us and high >= snapshot.end_us for low, high in server.queries.complete)
    ]
    if not complete or not sum(map(len, complete)):
        return None, None
    low, high = np.percentile(np.concatenate(complete), [50, 99])
    return float(low) / 1000, float(high) / 1000
