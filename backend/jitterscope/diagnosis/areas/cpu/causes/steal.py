"""The hypervisor runs something else on the node's CPUs while the server has work."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.cpu.fixes import machine
from jitterscope.diagnosis.core import harm, impact, missing_data
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Evidence, Fix, Found, NotEnoughData, NotFound, SeriesRef
from jitterscope.diagnosis.core.harm import AnswersHarm
from jitterscope.diagnosis.core.held_up import apart, late_us, slow_or_untimed
from jitterscope.diagnosis.core.served import metric, not_timed, read_served
from jitterscope.diagnosis.core.signals import has, number, series
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, Coincidence, coincidence, dilate

ID = "cpu/steal"
NEEDS = ("host_steal_us", "cpu_usage_us")
# Ticks in which this share of the node's CPU time was stolen can hold a server up.
SHARE = 0.1
LEAST_US = 200_000
# Stolen all the time, it has no quiet ticks to be compared with: then it must be this much.
ALWAYS, MUCH = 0.8, 0.3
# Where no answers are timed, only much stolen time is reported, as a risk, and only for a program that wants a CPU
# meanwhile: this much stolen time (µs), and this many CPUs of its own.
UNTIMED_US, UNTIMED_CPUS = 1_000_000, 0.05


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    gone = [] if has(snapshot.node, "host_steal_us") else ["host_steal_us"]
    gone += [] if has(snapshot.subject, "cpu_usage_us") else ["cpu_usage_us"]
    cpus = number(snapshot.node.fact("node.cpus"))
    if gone or not cpus:
        return missing_data.not_enough(ID, gone or ["node.cpus"], snapshot)
    stolen = series(snapshot.node, "host_steal_us", snapshot.ticks)
    share = np.nan_to_num(stolen) / (cpus * snapshot.step_us)
    hot = share >= SHARE
    total, peak = float(np.nansum(stolen)), float(share.max())
    numbers = {"stolen_us": total, "peak_share": peak, "ticks": float(hot.sum())}
    if total < LEAST_US or not hot.any():
        return NotFound(
            cause=ID,
            reason=f"The hypervisor took {say.ms(total)} of CPU time, at most {say.percent(peak)} of a tick.",
            numbers=numbers,
        )
    spans, served = apart(snapshot, dilate(hot, 0, 1)), read_served(snapshot)
    hurt = harm.harm(snapshot, spans, late_us(snapshot, spans), served=served)
    slow = np.nan_to_num(served.slow) > 0
    together, mean = coincidence(slow, spans), float(share[hot].mean())
    numbers |= {"mean_share": mean, "slow_ticks_inside": float(together.hits), "slow_ticks": float(together.of)}
    used = series(snapshot.subject, "cpu_usage_us", snapshot.ticks)[spans]
    own = float(np.nanmean(used)) / snapshot.step_us if np.isfinite(used).any() else 0.0
    numbers |= {"hot_us": float(np.nansum(stolen[hot])), "own_cpus": own}
    if (reason := _not(hurt, together, mean, total) or _untimed(hurt, numbers)) is not None:
        return NotFound(cause=ID, reason=reason, numbers=numbers)
    return _found(snapshot, hot, share, hurt, together)


def _not(hurt: AnswersHarm, together: Coincidence, mean: float, total: float) -> str | None:
    """Why stolen time is not what harms; None: it is, or nobody knows."""
    stolen = f"The hypervisor took {say.ms(total)} of CPU time"
    if not hurt.timed:
        return None if mean >= MUCH else f"{stolen}: {say.percent(mean)} in ticks with over {say.percent(SHARE)} of it."
    if hurt.severity is None:
        return f"{stolen}, and meanwhile {hurt.suffered:,} answers were late."
    always = together.chance_ratio >= ALWAYS
    if together.hits < 0.5 * together.of or (mean < MUCH if always else not together.beyond_chance):
        return (
            f"{stolen}. {together.hits} of {together.of} ticks with slow answers fall into that time (by chance: "
            f"{say.percent(together.chance_ratio)})."
        )
    return None


def _untimed(hurt: AnswersHarm, numbers: dict[str, float]) -> str | None:
    """Why stolen time hardly delays a program whose answers are not timed."""
    if hurt.timed or (numbers["hot_us"] >= UNTIMED_US and numbers["own_cpus"] >= UNTIMED_CPUS):
        return None
    return (
        f"The hypervisor took {say.ms(numbers['hot_us'])} of CPU time in ticks with over {say.percent(SHARE)} of it, "
        f"and meanwhile this program used {say.cpus(numbers['own_cpus'])}."
    )


def _found(snapshot: Snapshot, hot: BoolArray, share: FloatArray, hurt: AnswersHarm, together: Coincidence) -> Found:
    ticks, step = np.flatnonzero(hot), snapshot.step_us
    low, high = snapshot.start_us + int(ticks[0]) * step, snapshot.start_us + (int(ticks[-1]) + 1) * step
    mean, peak = float(share[hot].mean()), float(share.max())
    name, noun = say.who(snapshot), hurt.served.noun
    late = f"takes up to {hurt.max_ms:,.0f} ms to answer" if hurt.max_ms else "is delayed"
    harmed = (
        f"{hurt.inside:,} of {hurt.queries:,.0f} {noun} took {hurt.over} in these ticks."
        if hurt.timed
        else not_timed(hurt.served)
    )
    servers = [one for one in hurt.served.servers if has(one, metric(one, "slow"))]
    return Found(
        cause=ID,
        score=round(0.5 + 0.3 * min(1.0, 2 * mean) + 0.2 * (hurt.severity is not None), 4),
        confidence="high" if hurt.timed and together.beyond_chance and mean >= MUCH else "medium",
        severity=hurt.severity,
        harm=hurt.harm,
        title=f"{name} {late}: the hypervisor takes up to {say.percent(peak)} of the node's CPU time",
        summary=f"{harmed} {say.percent(mean)} of the node's CPU time was stolen in {len(ticks):,} ticks: the virtual "
        "machine had work but did not run.",
        onset_us=low,
        last_us=high,
        impact=impact.of_harm(snapshot, hurt) | impact.of_cpu(snapshot),
        evidence=[
            Evidence(
                id="stolen",
                statement=f"CPU time stolen from the node in ticks with over {say.percent(SHARE)} of it",
                value=f"{say.percent(mean)} on average",
                comparison=f"{say.percent(peak)} in the worst tick",
                numbers={"mean_share": mean, "peak_share": peak, "ticks": float(len(ticks))},
                series=[
                    SeriesRef(resource_id=snapshot.node.id, metric="host_steal_us", from_us=low, to_us=high),
                ],
            ),
            Evidence(
                id="slow_while_stolen",
                statement="Ticks with slow answers while CPU time was stolen",
                value=f"{together.hits} of {together.of}",
                comparison=f"by chance: {say.percent(together.chance_ratio)}, p = {say.probability(together.p_shift)}",
                numbers={
                    "hits": together.hits, "of": together.of, "chance_ratio": together.chance_ratio,
                    "p_value": together.p_shift, "inside": float(hurt.inside),
                },
                series=[
                    SeriesRef(resource_id=one.id, metric=metric(one, "slow"), from_us=low, to_us=high)
                    for one in servers
                ],
            ),
        ],
    )  # fmt: skip


def _shown(snapshot: Snapshot) -> bool:
    stolen, cpus = snapshot.node.series.get("host_steal_us"), number(snapshot.node.fact("node.cpus"))
    if stolen is None or not cpus or not (stolen >= SHARE * cpus * snapshot.step_us).any():
        return False
    return slow_or_untimed(snapshot)


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    return machine.propose(snapshot, found)


CAUSE = Cause(
    id=ID,
    title="The hypervisor takes the CPU",
    summary="The virtual machine has work, but its host runs other machines on the CPUs.",
    mechanism="On a host that sold more CPUs than it has, or on an instance whose CPU credits are used up, the "
    "hypervisor runs a virtual CPU only part of the time. The time that it withholds while the guest has work is "
    "counted as steal. No program of the guest uses that time, and no counter of a cgroup shows it: a thread seems to "
    "run but makes no progress. Found where slow answers fall into ticks in which part of the node's CPU time was "
    "stolen.",
    needs=NEEDS,
    rivals=("cpu/limit_too_low", "cpu/neighbours"),
    detect=detect,
    propose=propose,
    false_positives=(
        "Some hypervisors report steal while the guest is above a cap that was bought on purpose (burstable "
        "instances).",
    ),
    references=(
        "https://man7.org/linux/man-pages/man5/proc_stat.5.html",
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/burstable-performance-instances.html",
    ),
    signs=Signs(
        (
            "host_steal_us", "dns_queries", "dns_slow", "dns_timeouts", "dns_servfail", "requests", "responses_slow",
            "requests_unanswered",
        ),
        _shown,
    ),
)  # fmt: skip
