"""Pods start later than the objective of 5 s allows; taken apart by phase."""

from __future__ import annotations

from jitterscope.diagnosis.areas.pods.causes import _report as report
from jitterscope.diagnosis.areas.pods.fixes import pod_start
from jitterscope.diagnosis.areas.pods.readings import phases as pod_phases
from jitterscope.diagnosis.areas.pods.readings import starts as pod_starts
from jitterscope.diagnosis.areas.pods.readings import verifier as pod_verifier
from jitterscope.diagnosis.areas.pods.readings.phases import Part
from jitterscope.diagnosis.areas.pods.readings.starts import OBJECTIVE_US, SIGNS, PodStarts
from jitterscope.diagnosis.areas.pods.readings.verifier import Verifying
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.severity import harm_of
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "pods/pod_slo"
NEEDS = ("pod_start_sli_us",)


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    starts = pod_starts.read(snapshot)
    if not isinstance(starts, PodStarts):
        return report.answer(ID, starts)
    late, n = starts.late, starts.starts.n
    numbers = {"late": float(late), "starts": float(n), "p99_us": starts.starts.quantile_us(0.99)}
    if not pod_starts.missed(late, n):
        pulls = starts.phase("pod_image_pull_us")
        aside = f" Image pulls ({say.seconds(pulls.total_us / n)} per pod) do not count." if pulls is not None else ""
        return NotFound(
            cause=ID,
            reason=f"{late} of {say.count(n, 'start')} took more than {OBJECTIVE_US / 1e6:.0f} s: no more than the "
            f"objective allows or chance explains.{aside}",
            numbers=numbers,
        )
    verifying = pod_verifier.find(snapshot)
    if isinstance(verifying, Verifying):
        return NotFound(
            cause=ID,
            reason=f"{verifying.owner.command} loads eBPF programs for {say.ms(verifying.per_start_us)} of each start; "
            f"without them {say.percent(verifying.gone.late_ratio.expected)} would be late instead of "
            f"{say.percent(late / n)}.",
            numbers=numbers | {"verifier_us": verifying.per_start_us},
        )
    return _found(snapshot, starts)


def _found(snapshot: Snapshot, starts: PodStarts) -> Found:
    late, n, values = starts.late, starts.starts.n, starts.starts
    parts = pod_phases.parts(starts)
    slowest = pod_phases.slowest(parts)
    severity = report.severity(starts)
    where = f"most of it {slowest.title[0].lower()}{slowest.title[1:]}, {say.seconds(slowest.mean_us)}"
    onset, last = _span(snapshot, starts)
    return Found(
        cause=ID,
        score=round(0.45 + 0.3 * min(1.0, late / n) + (0.2 if severity else 0.0), 4),
        confidence=report.confidence(starts),
        severity=severity,
        harm=harm_of(severity, known=True),
        title=f"{late} of {n} pods took more than 5 s to start (p99 {say.seconds(values.quantile_us(0.99))}): {where}",
        summary=f"p50 / p90 / p99 of the starts were {report.percentiles(starts)}. The objective is 99 % within 5 s, "
        "not counting image pulls and init containers.",
        onset_us=onset,
        last_us=last,
        impact=report.impact(starts),
        evidence=[report.objective(snapshot, starts), *_phases(snapshot, starts, parts)],
    )


def _span(snapshot: Snapshot, starts: PodStarts) -> tuple[int, int]:
    """From the first to the last reading that told of starts."""
    tick = starts.told.tick
    first = snapshot.start_us + int(tick.min()) * snapshot.step_us
    last = snapshot.start_us + (int(tick.max()) + 1) * snapshot.step_us
    return max(snapshot.start_us, first), min(last, snapshot.end_us)


def _phases(snapshot: Snapshot, starts: PodStarts, parts: list[Part]) -> list[Evidence]:
    mean = starts.starts.mean_us
    found = []
    for part in parts:
        metric = part.metric or starts.metric
        share = f"{say.percent(part.mean_us / mean)} of the mean start"
        if not part.in_objective:
            share = "in addition; the objective leaves it out"
        found.append(
            Evidence(
                id=f"phase_{part.id}",
                statement=f"{part.title}, per pod" + (" (part of the sandbox)" if part.inside else ""),
                value=say.ms(part.mean_us),
                comparison=f"{share}; p50 / p90 / p99 {' / '.join(map(say.ms, part.at_us))}",
                numbers={"mean_us": part.mean_us, "ratio": part.mean_us / mean, "operations": float(part.operations)},
                series=report.refs(snapshot, metric),
            )
        )
    return found


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    starts = pod_starts.read(snapshot)
    if not isinstance(starts, PodStarts):
        return []
    parts = pod_phases.parts(starts)
    proposals = [
        pod_start.request_limit(snapshot, parts),
        pod_start.look_at(snapshot, pod_phases.slowest(parts)),
        pod_start.images_first(starts),
    ]
    return [fix for fix in proposals if fix is not None]


CAUSE = Cause(
    id=ID,
    title="Pod starts miss the objective",
    summary="More than 1 % of the pods of this node take over 5 s to start, beyond what chance explains.",
    mechanism="Kubernetes' pod startup objective: 99 % of schedulable stateless pods start within 5 s, from their "
    "creation until all containers are seen to run, without pulling images and running init containers. The kubelet "
    "measures it (pod_start_sli_duration_seconds, from 1.27 on). Its time is split into the sandbox with the network, "
    "the cgroups, the containers, and the rest: the scheduler, volumes, the kubelet, and the API server. Found where "
    "so many late starts have a probability below 1 % under the objective, and the eBPF verifier does not explain "
    "them. Slow image pulls do not count: the objective leaves them out.",
    needs=NEEDS,
    rivals=("pods/bpf_verification",),
    detect=detect,
    propose=propose,
    false_positives=(
        "DaemonSets on a node that is just joining wait for the network plugin and are counted like other pods.",
        "Where the kubelet's log is not read: its histograms have buckets of a second and more, so a start of 4.9 s "
        "can count as 5.1 s. And a kubelet that gets a pod's watch event before the response to its own status update "
        "counts the start with the pod's next event, long after the pod runs.",
    ),
    references=(
        report.OBJECTIVE,
        "https://kubernetes.io/docs/reference/instrumentation/metrics/",
        "https://kubernetes.io/blog/2023/05/15/speed-up-pod-startup/",
    ),
    subjects=("node",),
    signs=SIGNS,
)
