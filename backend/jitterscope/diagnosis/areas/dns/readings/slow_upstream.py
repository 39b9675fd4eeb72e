"""An upstream that is slow on its own: which one, when, and the harm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.dns.readings.path import PathGraph, path
from jitterscope.diagnosis.areas.dns.readings.retries import asks_again, retries
from jitterscope.diagnosis.areas.dns.readings.upstream_limit import RateLimited, rate_limited
from jitterscope.diagnosis.areas.dns.readings.upstream_time import (
    MANY,
    UpstreamTime,
    out_of_connections,
    upstream_times,
    waits_for_another,
)
from jitterscope.diagnosis.areas.dns.readings.why_not import WhyNot
from jitterscope.diagnosis.core import harm as dns_harm
from jitterscope.diagnosis.core import served, servers
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.harm import AnswersHarm
from jitterscope.diagnosis.core.late import late_after
from jitterscope.diagnosis.core.query_results import SERVFAIL
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate

# Share of initially dropped queries that a later attempt must get answered for a rate limit to be the reason. CoreDNS
# retries after exactly 2 s, at the same point of a second whose count starts anew, so most are dropped again.
AGAIN_RATIO = 0.02


@dataclass(frozen=True, slots=True)
class SlowUpstream:
    """A slow upstream of `server`; `ticks` in which it was slow."""

    server: ResourceView
    time: UpstreamTime
    graph: PathGraph
    ticks: BoolArray
    hurt: AnswersHarm

    @property
    def slow_mean_us(self) -> float:
        return self.time.mean_of(self.time.blocks)

    @property
    def awaited(self) -> int:
        """Queries that it has not answered so far, if no slow answer shows how long it takes."""
        time = self.time
        return 0 if time.slow[time.blocks].sum() >= time.overdue.max(initial=0.0) else round(time.overdue.max())

    @property
    def slow(self) -> float:
        """Slow answers of its slow seconds, or queries that wait for one."""
        return max(float(self.time.slow[self.time.blocks].sum()), float(self.awaited))

    @property
    def of(self) -> float:
        """All queries of these seconds that were answered or wait."""
        return max(1.0, float(self.time.answers[self.time.blocks].sum()) + self.awaited)

    @property
    def where(self) -> str:
        return f"{self.time.edge.address}:{self.time.edge.port}"


@reading
def slow_upstream(snapshot: Snapshot) -> SlowUpstream | WhyNot:
    """The slowest upstream that is slow on its own, or why none is."""
    graph = path(snapshot)
    times = [(server, time) for server in snapshot.dns_servers for time in upstream_times(snapshot, server.id)]
    if not times:
        if not any(graph.upstreams_of(server.id) for server in snapshot.dns_servers):
            if not all(server.fact("dns.upstreams") == "[]" for server in snapshot.dns_servers):
                return WhyNot("", missing=["dns.upstreams"])
            queries = float(np.nansum(servers.summed(snapshot, "dns_queries")))
            return WhyNot(f"The server answers its {queries:,.0f} queries itself: its settings name no upstream.")
        return WhyNot("", missing=["coredns_forward_time_us"])
    slow = [(server, time) for server, time in times if time.is_slow]
    if not slow:
        return _quick([time for _, time in times])
    server, time = max(slow, key=lambda pair: pair[1].slow_queries)
    name = f"{time.edge.address}:{time.edge.port}"
    if (further := waits_for_another(snapshot, time)) is not None:
        mean = further.mean_of(further.blocks)
        return WhyNot(
            reason=f"{name} only waits for its own upstream {further.edge.address}:{further.edge.port}, which takes "
            f"{say.ms(mean)}.",
            numbers={"further_mean_us": mean},
        )
    if time.target is not None and (ticks := out_of_connections(snapshot, time.target)):
        return WhyNot(
            reason=f"{name} is not slow but out of connections: some waited in the accept queue for "
            f"{say.seconds(ticks * snapshot.step_us)} at a stretch.",
            numbers={"backlog_ticks": float(ticks)},
        )
    if (limited := _limited(snapshot, server, time)) is not None:
        return limited
    blocks = time.ticks(time.blocks, snapshot.ticks)
    ticks_slow = dilate(blocks, 0, 5)
    late_us = min(time.slow_us, late_after(served.usual_us(server, ~ticks_slow)) if time.usual_us else time.slow_us)
    hurt = dns_harm.harm(
        snapshot, ticks_slow, max(late_us, SLOW_US),
        waiting=round(time.overdue[-1]) if time.silent[-1] else 0, waited_us=float(time.waits_us[-1]),
    )  # fmt: skip
    return SlowUpstream(server, time, graph, ticks_slow, hurt)


def _limited(snapshot: Snapshot, server: ResourceView, time: UpstreamTime) -> WhyNot | None:
    """An upstream that answers a limited number per second, as quickly as ever, and drops the rest.

    If the server retries, some of those are answered; a name that a resolver cannot resolve never is.
    """
    limit = rate_limited(snapshot)
    if time.slow[time.blocks].sum() >= MANY or not isinstance(limit, RateLimited) or not limit.hurts:
        return None
    asked = float(np.nansum(series(server, "dns_queries", snapshot.ticks)))
    if server.queries is None or (found := retries(server.queries, asked, 500_000.0)).suspects == 0:
        return None
    again = int((server.queries.result[found.again] != SERVFAIL).sum())
    if asks_again(server) and again < AGAIN_RATIO * found.suspects:
        return None
    return WhyNot(
        reason=f"{time.edge.address}:{time.edge.port} answers {limit.case.limit_per_s:,.0f} queries/s as quickly as "
        f"ever: it drops the rest, and {again:,} were answered on a retry.",
        numbers={"limit_per_s": limit.case.limit_per_s, "again": float(again)},
    )


def _quick(times: list[UpstreamTime]) -> WhyNot:
    worst = max(times, key=lambda time: float(np.nanmax(np.nan_to_num(time.median_us))))
    answers, slow = float(worst.answers.sum()), float(worst.slow.sum())
    typical = float(np.nanmedian(worst.median_us)) if np.isfinite(worst.median_us).any() else float("nan")
    took = say.ms(typical) if np.isfinite(typical) else "unknown"
    return WhyNot(
        reason=f"{worst.edge.address}:{worst.edge.port} takes {took} (median); {slow:,.0f} of {answers:,.0f} answers "
        "were slow.",
        numbers={"answers": answers, "slow": slow} | ({"median_us": typical} if np.isfinite(typical) else {}),
    )
