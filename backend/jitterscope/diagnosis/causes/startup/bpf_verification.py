"""Pods wait while the kernel verifies the eBPF programs that the network plugin loads for each of them."""

from __future__ import annotations

from jitterscope.diagnosis import bpf_loads, pod_verifier
from jitterscope.diagnosis import wording as say
from jitterscope.diagnosis.cause import Cause
from jitterscope.diagnosis.causes.startup import _report as report
from jitterscope.diagnosis.causes.startup import _verifier_evidence as proof
from jitterscope.diagnosis.finding import Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.fixes import bpf_programs
from jitterscope.diagnosis.pod_verifier import Verifying
from jitterscope.diagnosis.snapshot import Snapshot

ID = "startup/bpf_verification"


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    case = pod_verifier.find(snapshot, ID)
    return _found(snapshot, case) if isinstance(case, Verifying) else case


def _found(snapshot: Snapshot, case: Verifying) -> Found:
    starts, owner = case.starts, case.owner
    severity = report.severity(starts)
    end = f"{starts.late} of {starts.starts.n} pods took more than 5 s"
    if severity is None:
        end = f"the objective of 5 s is met so far (P99 {say.seconds(starts.starts.quantile_us(0.99))})"
    mine = [event for event in bpf_loads.events_of(snapshot) if event.attributes.get("command") == owner.command]
    onset = min(max(snapshot.start_us, mine[0].start_us), snapshot.end_us - 1)
    last = min(max(max(event.end_us for event in mine), onset + 1), snapshot.end_us)
    return Found(
        cause=ID,
        score=round(0.5 + 0.3 * min(1.0, case.share) + (0.2 if severity else 0.0), 4),
        confidence=report.confidence(starts),
        severity=severity,
        title=f"{owner.command} has the kernel verify eBPF programs for {say.ms(case.per_start_us)} of each pod's "
        f"start ({say.percent(case.share)}): {end}",
        summary=_summary(case),
        onset_us=onset,
        last_us=last,
        impact=report.impact(starts),
        evidence=proof.evidence(snapshot, case),
    )


def _summary(case: Verifying) -> str:
    before = report.percentiles(case.starts)
    after = " / ".join(say.ms(item.after_us.expected) for item in case.gone.percentiles)
    programs = case.owner.programs
    return (
        f"{case.owner.command} loaded {say.count(len(programs), 'program')} for each pod. P50 / P90 / P99 of starts "
        f"were {before}; without the time in the verifier they would be about {after}."
    )


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    case = pod_verifier.find(snapshot, ID)
    if not isinstance(case, Verifying):
        return []
    proposals = [
        bpf_programs.newer_cilium(snapshot, case),
        bpf_programs.without_ipv6(snapshot, case),
        bpf_programs.leave_out(snapshot, case),
        bpf_programs.images_first(case),
    ]
    return [fix for fix in proposals if fix is not None]


CAUSE = Cause(
    id=ID,
    title="Pods wait for the eBPF verifier",
    summary="For each new pod the network plugin loads its eBPF programs, and the kernel verifies all of them first.",
    mechanism="Cilium and others load a set of programs for each pod, and the pod's sandbox is not ready before. The "
    "kernel follows every path through each program (bpf(2) BPF_PROG_LOAD), so what branches much takes long, also if "
    "it is never run: tail calls that no program reaches are verified like the others. Found when the calls that load "
    "one set take a tenth of the mean start and a tenth of a second, about as many sets are loaded as pods start, and "
    "a sandbox takes at least as long as its set. Where the objective of 5 s is missed, half of the late pods must be "
    "in time without it. While it is met, it is a risk.",
    needs=pod_verifier.NEEDS,
    rivals=("startup/pod_slo",),
    detect=detect,
    propose=propose,
    false_positives=(
        "An agent that starts again loads the programs of all pods: many sets for few starts, which is told apart.",
    ),
    references=(
        report.OBJECTIVE,
        "https://github.com/cilium/cilium/issues/22023",
        "https://github.com/cilium/cilium/pull/21505",
        "https://docs.kernel.org/bpf/verifier.html",
    ),
    subjects=("node",),
)
