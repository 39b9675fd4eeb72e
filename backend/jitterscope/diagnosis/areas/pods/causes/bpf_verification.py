"""Pods wait while the kernel verifies the eBPF programs that the network plugin loads for each of them."""

from __future__ import annotations

from jitterscope.diagnosis.areas.pods.causes import _report as report
from jitterscope.diagnosis.areas.pods.fixes import bpf_programs
from jitterscope.diagnosis.areas.pods.readings import bpf_loads
from jitterscope.diagnosis.areas.pods.readings import verifier as pod_verifier
from jitterscope.diagnosis.areas.pods.readings.starts import SIGNS
from jitterscope.diagnosis.areas.pods.readings.verifier import Verifying
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.severity import harm_of
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import cilium_versions

ID = "pods/bpf_verification"
_SHOWN = 5


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    case = pod_verifier.find(snapshot)
    return _found(snapshot, case) if isinstance(case, Verifying) else report.answer(ID, case)


def _found(snapshot: Snapshot, case: Verifying) -> Found:
    starts, owner = case.starts, case.owner
    severity = report.severity(starts)
    end = f"{starts.late} of {starts.starts.n} pods took more than 5 s"
    if not starts.late:
        end = f"the objective of 5 s is met so far (p99 {say.seconds(starts.starts.quantile_us(0.99))})"
    elif severity is None:
        end += ", which might still be chance"
    mine = [event for event in bpf_loads.events_of(snapshot) if event.attributes.get("command") == owner.command]
    onset = min(max(snapshot.start_us, mine[0].start_us), snapshot.end_us - 1)
    last = min(max(max(event.end_us for event in mine), onset + 1), snapshot.end_us)
    return Found(
        cause=ID,
        score=round(0.5 + 0.3 * min(1.0, case.share) + (0.2 if severity else 0.0), 4),
        confidence=report.confidence(starts),
        severity=severity,
        harm=harm_of(severity, known=True),
        title=f"eBPF verification for {owner.command} takes {say.ms(case.per_start_us)} per pod"
        f"{_of_all(case, ' of all start time')}: {end}",
        summary=_summary(snapshot, case),
        onset_us=onset,
        last_us=last,
        impact=report.impact(starts),
        evidence=_evidence(snapshot, case),
    )


def _of_all(case: Verifying, what: str = "") -> str:
    """The share of all start time, if it can be told."""
    told = pod_verifier.share_of_starts(case.owner, case.starts)
    return f", {say.percent(told)}{what}" if told is not None else ""


def _summary(snapshot: Snapshot, case: Verifying) -> str:
    before = report.percentiles(case.starts)
    after = " / ".join(say.ms(item.after_us.expected) for item in case.gone.percentiles)
    programs = case.owner.programs
    place = bpf_loads.place_of(snapshot, case.owner.command)
    inside = f" in {place}" if place is not None else ""
    return (
        f"{case.owner.command}{inside} loaded {say.count(len(programs), 'program')} for each pod. "
        f"p50 / p90 / p99 of starts were {before}; without the time in the verifier they would be about {after}."
    )


def _evidence(snapshot: Snapshot, case: Verifying) -> list[Evidence]:
    found = [_share(snapshot, case), _programs(snapshot, case)]
    found += [
        item
        for item in (_unused(snapshot, case), _inside(snapshot, case), _agents_clock(snapshot, case))
        if item is not None
    ]
    return [*found, report.objective(snapshot, case.starts), _without(snapshot, case)]


def _share(snapshot: Snapshot, case: Verifying) -> Evidence:
    mean = case.starts.starts.mean_us
    return Evidence(
        id="verifier_share",
        statement=f"Time that {case.owner.command} takes to load the programs of one pod, share of all start time",
        value=f"{say.ms(case.per_start_us)}{_of_all(case)}",
        comparison=f"{say.count(case.owner.sets, 'set')} of programs for "
        f"{say.count(case.starts.starts.n, 'pod')} that started in {say.ms(mean)} on average",
        numbers={
            "per_start_us": case.per_start_us, "start_mean_us": mean, "share": case.share,
            "sets": float(case.owner.sets), "starts": float(case.starts.starts.n),
        },
        series=report.refs(snapshot, "bpf_load_us", "bpf_loads", case.starts.metric),
    )  # fmt: skip


def _programs(snapshot: Snapshot, case: Verifying) -> Evidence:
    owner = case.owner
    shown = [(program, program.total_us / owner.sets) for program in owner.programs[:_SHOWN]]
    verified = sum(program.verified_instructions or 0 for program in owner.programs)
    rest = len(owner.programs) - len(shown)
    comparison = f"and {say.count(rest, 'other')}" if rest > 0 else "no others"
    if verified:
        comparison += f"; {verified:,} instructions verified per pod"
    return Evidence(
        id="programs",
        statement="Programs that take longest to load for one pod",
        value=", ".join(f"{program.name} {say.ms(time)}" for program, time in shown),
        comparison=comparison,
        numbers={f"{position + 1}_us": time for position, (_, time) in enumerate(shown)}
        | {"programs": float(len(owner.programs)), "verified_instructions": float(verified)},
        series=report.refs(snapshot, "bpf_load_us"),
    )


def _unused(snapshot: Snapshot, case: Verifying) -> Evidence | None:
    """Programs that are known to be loaded for nothing."""
    if not cilium_versions.is_cilium(snapshot, case.owner.command):
        return None
    names = sorted({p.name for p in case.owner.programs if cilium_versions.unused_for_pods(p.name)})
    if not names:
        return None
    time = case.owner.named(names)
    return Evidence(
        id="unused_programs",
        statement=f"Part of it for tail calls that pods never run ({', '.join(names)})",
        value=f"{say.ms(time)}, {say.percent(time / case.per_start_us)}",
        comparison=f"Cilium {cilium_versions.NO_NODEPORT_NAT.since_text} no longer loads them",
        numbers={"unused_us": time, "unused_ratio": time / case.per_start_us},
        series=report.refs(snapshot, "bpf_load_us"),
    )


def _inside(snapshot: Snapshot, case: Verifying) -> Evidence | None:
    sandbox = case.starts.phase("pod_sandbox_us")
    if sandbox is None:
        return None
    return Evidence(
        id="inside_sandbox",
        statement="Mean time to create a sandbox, while the CNI plugin waits for the agent",
        value=say.ms(sandbox.mean_us),
        comparison=f"verifier: {say.percent(min(1.0, case.per_start_us / sandbox.mean_us))} of it",
        numbers={"sandbox_us": sandbox.mean_us, "ratio": case.per_start_us / sandbox.mean_us},
        series=report.refs(snapshot, "pod_sandbox_us"),
    )


def _agents_clock(snapshot: Snapshot, case: Verifying) -> Evidence | None:
    """What Cilium itself measured of it."""
    loads = case.starts.phase("pod_bpf_load_us")
    if loads is None:
        return None
    return Evidence(
        id="agents_clock",
        statement="Cilium's own time to load an endpoint's programs (scope bpfLoadProg), mean",
        value=say.ms(loads.mean_us),
        comparison=f"in the kernel {say.ms(case.per_start_us)}; the rest is reading and attaching them",
        numbers={"agent_us": loads.mean_us, "kernel_us": case.per_start_us, "endpoints": float(loads.n)},
        series=report.refs(snapshot, "pod_bpf_load_us"),
    )


def _without(snapshot: Snapshot, case: Verifying) -> Evidence:
    after = case.gone.late_ratio
    return Evidence(
        id="without_verifier",
        statement="p50 / p90 / p99 of the starts → without the verifier",
        value=f"{report.percentiles(case.starts)} → "
        + " / ".join(say.ms(item.after_us.expected) for item in case.gone.percentiles),
        comparison=f"over 5 s: {say.percent(case.gone.late / case.gone.starts)} → {say.percent(after.expected)} "
        f"(between {say.percent(after.low)} and {say.percent(after.high)})",
        numbers={
            f"p{round(100 * item.q)}_{when}_us": value
            for item in case.gone.percentiles
            for when, value in (("before", item.before_us), ("after", item.after_us.expected))
        },
        series=report.refs(snapshot, case.starts.metric),
    )


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    case = pod_verifier.find(snapshot)
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
    title="eBPF verification delays pod starts",
    summary="For each new pod the network plugin loads its eBPF programs, and the kernel verifies all of them first.",
    mechanism="Cilium and others load a set of programs for each pod, and the pod's sandbox is not ready until they "
    "are loaded. The kernel follows every path through each program (bpf(2) BPF_PROG_LOAD), so programs with many "
    "branches take long even if they never run: tail calls that no program reaches are verified like the others. "
    "Found when loading one set takes a tenth of the mean start and a tenth of a second, about as many sets are "
    "loaded as pods start, and a sandbox takes at least as long as its set. If the objective of 5 s is missed, half "
    "of the late pods must be in time without the verification. While it is met, this is a risk.",
    needs=pod_verifier.NEEDS,
    rivals=("pods/pod_slo",),
    detect=detect,
    propose=propose,
    false_positives=(
        "An agent that restarts loads the programs of all pods: many sets for few starts, which is recognized.",
    ),
    references=(
        report.OBJECTIVE,
        "https://github.com/cilium/cilium/issues/22023",
        "https://github.com/cilium/cilium/pull/21505",
        "https://docs.kernel.org/bpf/verifier.html",
    ),
    subjects=("node",),
    signs=SIGNS,
)
