"""The server that this one asks takes too long by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis import dns_harm
from jitterscope.diagnosis import wording as say
from jitterscope.diagnosis.cause import Cause
from jitterscope.diagnosis.causes.dns import _report as report
from jitterscope.diagnosis.causes.dns._exhaustion_evidence import refs
from jitterscope.diagnosis.dns_harm import DnsHarm
from jitterscope.diagnosis.dns_own_time import own_time
from jitterscope.diagnosis.dns_path import PathGraph, path
from jitterscope.diagnosis.dns_upstream_time import (
    UpstreamTime,
    out_of_connections,
    upstream_times,
    waits_for_another,
)
from jitterscope.diagnosis.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.fixes import dns_upstream
from jitterscope.diagnosis.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.stats import BoolArray, dilate

ID = "dns/slow_upstream"
NEEDS = ("dns_queries",)


@dataclass(frozen=True, slots=True)
class Case:
    """A slow upstream of `server`; `ticks` in which it was slow."""

    server: ResourceView
    time: UpstreamTime
    graph: PathGraph
    ticks: BoolArray
    hurt: DnsHarm

    @property
    def slow_mean_us(self) -> float:
        return self.time.mean_of(self.time.blocks)

    @property
    def awaited(self) -> int:
        """Queries that it did not answer so far, where no slow answer says how long it takes."""
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


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    if gone := report.missing(snapshot, NEEDS):
        return report.not_enough(ID, gone, snapshot)
    case = find(snapshot)
    return _found(snapshot, case) if isinstance(case, Case) else case


def find(snapshot: Snapshot) -> Case | NotFound | NotEnoughData:
    """The slowest upstream that is slow by itself, or why none is."""
    graph = path(snapshot)
    times = [(server, time) for server in snapshot.dns_servers for time in upstream_times(snapshot, graph, server)]
    if not times:
        if not any(graph.upstreams_of(server.id) for server in snapshot.dns_servers):
            queries = float(np.nansum(report.summed(snapshot, "dns_queries")))
            return NotFound(
                cause=ID, reason=f"The server is not known to ask another one for its {queries:,.0f} queries."
            )
        return report.not_enough(ID, ["coredns_forward_time_us"], snapshot)
    slow = [(server, time) for server, time in times if time.is_slow]
    if not slow:
        return _quick([time for _, time in times])
    server, time = max(slow, key=lambda pair: pair[1].slow_queries)
    name = f"{time.edge.address}:{time.edge.port}"
    if (further := waits_for_another(snapshot, graph, time)) is not None:
        mean = further.mean_of(further.blocks)
        return NotFound(
            cause=ID,
            reason=f"{name} only waits for its own upstream {further.edge.address}:{further.edge.port}, which takes "
            f"{say.ms(mean)}.",
            numbers={"further_mean_us": mean},
        )
    if time.target is not None and (ticks := out_of_connections(snapshot, time.target)):
        return NotFound(
            cause=ID,
            reason=f"{name} is not slow but out of connections: some waited to be accepted for "
            f"{say.seconds(ticks * snapshot.step_us)} on end.",
            numbers={"backlog_ticks": float(ticks)},
        )
    blocks = time.ticks(time.blocks, snapshot.ticks)
    ticks_slow = dilate(blocks, 0, 5)
    late_us = min(
        time.slow_us, dns_harm.late_after(dns_harm.usual_us(server, ~ticks_slow)) if time.usual_us else time.slow_us
    )
    hurt = dns_harm.harm(
        snapshot, ticks_slow, max(late_us, 20_000.0),
        waiting=round(time.overdue[-1]) if time.silent[-1] else 0, waited_us=float(time.waits_us[-1]),
    )  # fmt: skip
    return Case(server, time, graph, ticks_slow, hurt)


def _quick(times: list[UpstreamTime]) -> NotFound:
    worst = max(times, key=lambda time: float(np.nanmax(np.nan_to_num(time.median_us))))
    answers, slow = float(worst.answers.sum()), float(worst.slow.sum())
    typical = float(np.nanmedian(worst.median_us)) if np.isfinite(worst.median_us).any() else float("nan")
    took = say.ms(typical) if np.isfinite(typical) else "unknown"
    return NotFound(
        cause=ID,
        reason=f"{worst.edge.address}:{worst.edge.port} takes {took} (median); {slow:,.0f} of {answers:,.0f} answers "
        "were slow.",
        numbers={"answers": answers, "slow": slow} | ({"median_us": typical} if np.isfinite(typical) else {}),
    )


def _found(snapshot: Snapshot, case: Case) -> Found:
    hot = np.flatnonzero(case.ticks)
    onset = case.hurt.first_late_us or snapshot.start_us + int(hot[0]) * snapshot.step_us
    last = snapshot.start_us + int(hot[-1] + 1) * snapshot.step_us
    time, mean = case.time, case.slow_mean_us
    usual = f" in place of {say.ms(time.usual_us)}" if time.usual_us is not None and time.usual_us < mean / 2 else ""
    end = "so answers are as late"
    if case.hurt.lost or case.hurt.failed:
        end = f"and {say.count(case.hurt.lost + case.hurt.failed, 'query', 'queries')} failed"
    elif case.hurt.severity is None:
        end = "but hardly anyone waited for it"
    share = case.slow / case.of
    takes = f"takes {say.ms(mean)} for an answer{usual}"
    if case.awaited:
        takes = f"has not answered {say.count(case.awaited, 'query', 'queries')} for up to {say.ms(mean)}"
    return Found(
        cause=ID,
        # Below what it leads to: memory that runs out because of it comes first.
        score=round(min(0.95, 0.5 + 0.3 * share + (0.2 if case.hurt.severity else 0.0)), 4),
        confidence=_confidence(case, share),
        severity=case.hurt.severity,
        title=f"The upstream {case.where} of {say.who(snapshot)} {takes}, {end}",
        summary=_summary(case, share),
        onset_us=min(max(snapshot.start_us, onset), last - 1),
        last_us=last,
        upstream=case.where,
        impact=dns_harm.impact(snapshot, case.hurt),
        evidence=_evidence(snapshot, case, share),
    )


def _summary(case: Case, share: float) -> str:
    time = case.time
    how = (
        "measured where it answers"
        if time.measured == "upstream"
        else "by the server's own counters of what it forwards (means only; all its upstreams together)"
    )
    parts = [
        f"{say.percent(share)} of its answers were slow while it lasted, {how}. "
        "A server in front can only hide it for names in its cache."
    ]
    if case.hurt.failed or case.hurt.lost:
        parts.append("CoreDNS gives an attempt 2 s and a query 5 s; what takes longer fails.")
    if time.measured != "upstream":
        parts.append("Whether that server waits for yet another one cannot be seen from here.")
    return " ".join(parts)


def _confidence(case: Case, share: float) -> Confidence:
    if case.time.measured == "upstream" and share >= 0.2 and case.slow >= 20:
        return "high"
    return "medium" if case.slow >= 20 else "low"


def _evidence(snapshot: Snapshot, case: Case, share: float) -> list[Evidence]:
    time, mean = case.time, case.slow_mean_us
    slow, answers = case.slow, case.of
    quiet = ~time.blocks & (time.answers > 0)
    seen = () if time.target is None else (time.target,)
    here = (case.server,)
    numbers = {"mean_us": mean, "slow": slow, "of": answers, "slow_ratio": share, "slow_us": time.slow_us}
    if time.usual_us is not None:
        numbers["usual_us"] = time.usual_us
    found = [
        Evidence(
            id="upstream_time",
            statement=f"Time to the answer at {case.where}, mean of its slow seconds",
            value=say.ms(mean),
            comparison=f"usually {say.ms(time.usual_us)}" if time.usual_us is not None else "no quick second to "
            "compare with",
            numbers=numbers,
            series=refs(snapshot, seen, "dns_slow", "dns_queries") or refs(
                snapshot, here, "coredns_forward_time_us", "coredns_forward_requests"
            ),
        ),
        Evidence(
            id="slow_seconds",
            statement="Seconds in which its answers were slow or did not come, of those with queries",
            value=f"{int(time.blocks.sum())} of {int((time.blocks | (time.answers > 0)).sum())}",
            comparison=f"{int(quiet.sum())} were not",
            numbers={"hits": float(time.blocks.sum()), "of": float((time.blocks | (time.answers > 0)).sum())},
            series=refs(snapshot, seen or here, "dns_queries"),
        ),
    ]  # fmt: skip
    if (split := _split(case)) is not None:
        found.append(split)
    of = case.hurt.late + case.hurt.lost
    if of:
        chance = float(case.ticks.mean())
        found.append(
            Evidence(
                id="slow_in_stalls",
                statement=f"Queries that took over {say.ms(case.hurt.late_us)} or failed, while the upstream was slow",
                value=f"{case.hurt.suffered:,} of {of:,}",
                comparison=f"chance {say.percent(chance)}",
                numbers={"hits": float(case.hurt.suffered), "of": float(of), "chance_ratio": chance},
                series=refs(snapshot, here, "dns_slow", "dns_timeouts"),
            )
        )
    return found


def _split(case: Case) -> Evidence | None:
    """Of the late answers: how much of their time was spent at the upstream?"""
    target = case.time.target
    if target is None or target.queries is None or case.server.queries is None:
        return None
    split = own_time(case.server.queries, target.queries, case.hurt.late_us)
    if len(split.total_us) < 5:
        return None
    return Evidence(
        id="time_at_upstream",
        statement="Time of late answers spent at the upstream, and at this server",
        value=f"{say.percent(split.upstream_ratio)} / {say.percent(1 - split.upstream_ratio)}",
        comparison=f"{len(split.total_us):,} late answers matched across both by time",
        numbers={"upstream_ratio": split.upstream_ratio, "late": float(len(split.total_us))},
        series=[],
    )


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    case = find(snapshot)
    if not isinstance(case, Case):
        return []
    proposals = [
        dns_upstream.another(snapshot, case.server, case.time, found),
        dns_upstream.serve_stale(snapshot, case.server, found),
        dns_upstream.read_timeout(snapshot, case.server, case.slow_mean_us, found),
        dns_upstream.max_concurrent(snapshot, case.server, case.time, case.slow_mean_us, found),
        dns_upstream.more_connections(snapshot, case.server),
    ]
    return [fix for fix in proposals if fix is not None]


CAUSE = Cause(
    id=ID,
    title="The upstream is slow",
    summary="The server that this one asks takes a second and more, or many times what it usually does.",
    mechanism="A forwarding server is as quick as its upstream for every name that its cache does not hold. Found on "
    "the server directly in front of the slow one: where that one only waits for yet another, or has no connection "
    "left to accept, the trouble is there. Slow answers also hold connections: the same load then wants as many "
    "times more of them as the answer takes longer, so that a dnsmasq behind runs out of children as a consequence.",
    needs=NEEDS,
    rivals=("dns/connection_pool_churn", "dns/dnsmasq_connection_exhaustion", "dns/udp_loss"),
    detect=detect,
    propose=propose,
    false_positives=(
        "Names whose own authoritative servers do not answer are slow at every resolver: look at which names are late.",
    ),
    references=("https://coredns.io/plugins/forward/", "https://www.rfc-editor.org/rfc/rfc8767"),
    spreads=True,
)
