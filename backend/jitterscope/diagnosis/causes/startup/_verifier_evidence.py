"""Evidence that pods wait for the verifier."""

from __future__ import annotations

from jitterscope.diagnosis import cilium_versions
from jitterscope.diagnosis import wording as say
from jitterscope.diagnosis.causes.startup import _report as report
from jitterscope.diagnosis.finding import Evidence
from jitterscope.diagnosis.pod_verifier import Verifying
from jitterscope.diagnosis.snapshot import Snapshot

_SHOWN = 5


def evidence(snapshot: Snapshot, case: Verifying) -> list[Evidence]:
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
        statement=f"Time in which {case.owner.command} loads the programs of one pod, of its start",
        value=f"{say.ms(case.per_start_us)} of {say.ms(mean)}, {say.percent(case.share)}",
        comparison=f"{say.count(case.owner.sets, 'set')} of programs for "
        f"{say.count(case.starts.starts.n, 'pod')} that started",
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
        comparison += f"; {verified:,} instructions verified for a pod"
    return Evidence(
        id="programs",
        statement="Programs that took longest for one pod",
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
        statement=f"Of it, for tail calls that pods never run ({', '.join(names)})",
        value=f"{say.ms(time)}, {say.percent(time / case.per_start_us)}",
        comparison=f"Cilium {cilium_versions.NO_NODEPORT_NAT.since_text} loads them no more",
        numbers={"unused_us": time, "unused_ratio": time / case.per_start_us},
        series=report.refs(snapshot, "bpf_load_us"),
    )


def _inside(snapshot: Snapshot, case: Verifying) -> Evidence | None:
    sandbox = case.starts.phase("pod_sandbox_us")
    if sandbox is None:
        return None
    return Evidence(
        id="inside_sandbox",
        statement="Mean time to make a sandbox, in which the CNI plugin waits for the agent",
        value=say.ms(sandbox.mean_us),
        comparison=f"the verifier is {say.percent(min(1.0, case.per_start_us / sandbox.mean_us))} of it",
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
        statement="P50 / P90 / P99 of the starts, and without the verifier",
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
