"""The server that this one asks takes too long by itself."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.dns.causes import _report as report
from jitterscope.diagnosis.areas.dns.causes._exhaustion_evidence import refs
from jitterscope.diagnosis.areas.dns.fixes import upstream as dns_upstream
from jitterscope.diagnosis.areas.dns.readings.own_time import own_time
from jitterscope.diagnosis.areas.dns.readings.slow_upstream import SlowUpstream, slow_upstream
from jitterscope.diagnosis.areas.dns.readings.upstream_time import SIGNS, may_be_slow
from jitterscope.diagnosis.areas.dns.readings.why_not import WhyNot
from jitterscope.diagnosis.core import impact, servers
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "dns/slow_upstream"
NEEDS = ("dns_queries",)


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    if gone := servers.missing(snapshot, NEEDS):
        return report.not_enough(ID, gone, snapshot)
    case = slow_upstream(snapshot)
    return report.not_found(ID, case, snapshot) if isinstance(case, WhyNot) else _found(snapshot, case)


def _found(snapshot: Snapshot, case: SlowUpstream) -> Found:
    hot = np.flatnonzero(case.ticks)
    onset = case.hurt.first_late_us or snapshot.start_us + int(hot[0]) * snapshot.step_us
    last = snapshot.start_us + int(hot[-1] + 1) * snapshot.step_us
    time, mean = case.time, case.slow_mean_us
    usual = f" instead of {say.ms(time.usual_us)}" if time.usual_us is not None and time.usual_us < mean / 2 else ""
    end = "so its answers are late"
    if case.hurt.lost or case.hurt.failed:
        end = f"and {say.count(case.hurt.lost + case.hurt.failed, 'query', 'queries')} failed"
    elif case.hurt.severity is None:
        end = "but hardly any query waited for it"
    share = case.slow / case.of
    takes = f"takes {say.ms(mean)} to answer{usual}"
    if case.awaited:
        takes = f"has not answered {say.count(case.awaited, 'query', 'queries')} for up to {say.ms(mean)}"
    return Found(
        cause=ID,
        # Below what it leads to: memory that runs out because of it comes first.
        score=round(min(0.95, 0.5 + 0.3 * share + (0.2 if case.hurt.severity else 0.0)), 4),
        confidence=_confidence(case, share),
        severity=case.hurt.severity,
        harm=case.hurt.harm,
        title=f"The upstream {case.where} of {say.who(snapshot)} {takes}, {end}",
        summary=_summary(case, share),
        onset_us=min(max(snapshot.start_us, onset), last - 1),
        last_us=last,
        upstream=case.where,
        impact=impact.of_harm(snapshot, case.hurt),
        evidence=_evidence(snapshot, case, share),
    )


def _summary(case: SlowUpstream, share: float) -> str:
    time = case.time
    how = (
        "measured at the upstream itself"
        if time.measured == "upstream"
        else "according to the server's own counters of forwarded queries (means only, all upstreams together)"
    )
    parts = [
        f"{say.percent(share)} of its answers were slow during this time, {how}. "
        "A server in front can hide this only for names in its cache."
    ]
    if case.hurt.failed or case.hurt.lost:
        parts.append("CoreDNS gives up an attempt after 2 s and a query after 5 s, so slower queries fail.")
    if time.measured != "upstream":
        parts.append("Whether that upstream waits for another one in turn was not measured.")
    return " ".join(parts)


def _confidence(case: SlowUpstream, share: float) -> Confidence:
    if case.time.measured == "upstream" and share >= 0.2 and case.slow >= 20:
        return "high"
    return "medium" if case.slow >= 20 else "low"


def _evidence(snapshot: Snapshot, case: SlowUpstream, share: float) -> list[Evidence]:
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
            statement=f"Latency of {case.where}, mean of its slow seconds",
            value=say.ms(mean),
            comparison=f"usual: {say.ms(time.usual_us)}" if time.usual_us is not None else "no quick second for "
            "comparison",
            numbers=numbers,
            series=refs(snapshot, seen, "dns_slow", "dns_queries") or refs(
                snapshot, here, "coredns_forward_time_us", "coredns_forward_requests"
            ),
        ),
        Evidence(
            id="slow_seconds",
            statement="Seconds with slow or missing answers, of those with queries",
            value=f"{int(time.blocks.sum())} of {int((time.blocks | (time.answers > 0)).sum())}",
            comparison=f"{int(quiet.sum())} without",
            numbers={"hits": float(time.blocks.sum()), "of": float((time.blocks | (time.answers > 0)).sum())},
            series=refs(snapshot, seen or here, "dns_queries"),
        ),
    ]  # fmt: skip
    if (split := _split(case)) is not None:
        found.append(split)
    of = case.hurt.late + case.hurt.lost + case.hurt.waiting
    if of:
        chance = float(case.ticks.mean())
        found.append(
            Evidence(
                id="slow_in_stalls",
                statement=f"Queries that took {case.hurt.briefly_over}, failed, or still waited while the upstream was "
                "slow",
                value=f"{case.hurt.suffered:,} of {of:,}",
                comparison=f"by chance: {say.percent(chance)}",
                numbers={"hits": float(case.hurt.suffered), "of": float(of), "chance_ratio": chance},
                series=refs(snapshot, here, "dns_slow", "dns_timeouts"),
            )
        )
    return found


def _split(case: SlowUpstream) -> Evidence | None:
    """Of the late answers: how much of their time was spent at the upstream?"""
    target = case.time.target
    if target is None or target.queries is None or case.server.queries is None:
        return None
    split = own_time(case.server.queries, target.queries, case.hurt.late_us)
    if len(split.total_us) < 5:
        return None
    return Evidence(
        id="time_at_upstream",
        statement="Time of late answers spent at the upstream / at this server",
        value=f"{say.percent(split.upstream_ratio)} / {say.percent(1 - split.upstream_ratio)}",
        comparison=f"{len(split.total_us):,} late answers matched across both by time",
        numbers={"upstream_ratio": split.upstream_ratio, "late": float(len(split.total_us))},
        series=[],
    )


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    case = slow_upstream(snapshot)
    if isinstance(case, WhyNot):
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
    summary="The upstream takes a second or more to answer, or many times its usual latency.",
    mechanism="A forwarding server is only as fast as its upstream for every name that is not in its cache. Found on "
    "the server directly in front of the slow one: if that one only waits for another upstream, or is out of "
    "connections, the fault is there. Slow answers also hold connections: the connections that the same load needs "
    "grow in proportion to the latency, so a dnsmasq behind the forwarder runs out of child processes as a "
    "consequence.",
    needs=NEEDS,
    relies_on=("dns.upstreams",),
    rivals=("dns/connection_pool_churn", "dns/dnsmasq_connection_exhaustion", "dns/udp_loss"),
    detect=detect,
    propose=propose,
    false_positives=(
        "Names whose own authoritative servers do not answer are slow at every resolver: check which names are late.",
    ),
    references=("https://coredns.io/plugins/forward/", "https://www.rfc-editor.org/rfc/rfc8767"),
    spreads=True,
    signs=Signs(SIGNS, may_be_slow),
)
