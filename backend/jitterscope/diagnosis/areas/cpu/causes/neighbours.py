"""Threads of the server are runnable and do not run: other cgroups have the node's CPUs."""

from __future__ import annotations

from jitterscope.diagnosis.areas.cpu.causes import _waiting as waiting
from jitterscope.diagnosis.areas.cpu.causes._waiting import Waiting
from jitterscope.diagnosis.areas.cpu.fixes import cpu_weight, dedicated_cpus, move_apart, neighbour_limit
from jitterscope.diagnosis.areas.cpu.readings import run_waits
from jitterscope.diagnosis.areas.cpu.readings.run_waits import CpuUse, Neighbour, RunWaits
from jitterscope.diagnosis.core import held_up, missing_data, unread
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.signals import has, number, quota_of
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import cpu_requests

ID = "cpu/neighbours"
NEEDS = ("process_run_delay_us", "cpu_usage_us", "host_idle_us")
# Less waiting than this in all holds nobody up for long.
LEAST_US = 200_000
# Where nobody times answers, only waiting that takes most of the time is told, as a risk.
UNTIMED_US, UNTIMED_SHARE = 1_000_000, 0.5
# Others have taken the node's CPUs where they had this share of them and hardly any time was idle.
OTHERS, IDLE = 0.5, 0.2
# They have to take clearly more than its own cgroup: of two that share a CPU evenly, neither starves the other.
MORE_THAN_OWN = 1.5
# A neighbor with this share of the node's CPUs is named in the title.
NOTABLE = 0.05
# Whoever has no CPU to read requests lets them wait: most of a late answer's time where its threads starve. A tenth is
# as if the threads of each request had waited as long ten times, one after the other.
UNREAD = 0.1
# Those named had all that others had where they had this share of it: not every process is in a cgroup that is read.
ALL_OF_THEM = 0.8


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    waits = run_waits.read_waits(snapshot)
    gone = [] if waits is not None else ["process_run_delay_us"]
    gone += [] if has(snapshot.subject, "cpu_usage_us") else ["cpu_usage_us"]
    gone += [] if has(snapshot.node, "host_idle_us") else ["host_idle_us"]
    if waits is None or gone:
        return missing_data.not_enough(ID, gone, snapshot)
    numbers = {"waited_us": waits.total_us(waits.hot), "free_waited_us": waits.total_us(waits.free)}
    if numbers["free_waited_us"] < LEAST_US or numbers["free_waited_us"] < 0.5 * numbers["waited_us"]:
        return NotFound(cause=ID, reason=_little(waits, numbers), numbers=numbers)
    found = waiting.judge(snapshot, waits)
    use = run_waits.cpu_use(snapshot, waits, found.ticks)
    if use is None:
        return missing_data.not_enough(ID, ["node.cpus"], snapshot)
    numbers |= found.numbers
    numbers |= {"others": use.others, "own": use.own, "idle": use.idle, "stolen": use.stolen, "irq": use.interrupts}
    if (reason := _not_others(snapshot, waits, use)) is not None:
        return NotFound(cause=ID, reason=reason, numbers=numbers)
    if (reason := _harmless(waits, found)) is not None:
        return NotFound(cause=ID, reason=reason, numbers=numbers)
    return _found(snapshot, waits, use, found)


def _little(waits: RunWaits, numbers: dict[str, float]) -> str:
    waited, free = numbers["waited_us"], numbers["free_waited_us"]
    if waited < LEAST_US:
        return f"Threads waited {say.ms(waited)} for a CPU in ticks with over {say.ms(run_waits.WAIT_US)} of waiting."
    return (
        f"{say.ms(waited - free)} of the {say.ms(waited)} that threads were runnable but did not run fall into "
        "throttled periods: the limit throttled them."
    )


def _not_others(snapshot: Snapshot, waits: RunWaits, use: CpuUse) -> str | None:
    """Why it is not other cgroups that had the CPUs; None: it is."""
    while_waiting = f"While its threads waited {say.ms(waits.total_us(waits.free & use.ticks))} for a CPU"
    if use.idle_waiting > IDLE:
        reason = f"{while_waiting}, {say.percent(use.idle)} of the node's CPU time was idle."
        if (allowed := run_waits.pinned(snapshot)) is not None:
            reason += f" Its processes may run on only {allowed:g} of {use.cpus:g} CPUs (affinity)."
        return reason
    if MORE_THAN_OWN * use.own >= use.others:
        return (
            f"{while_waiting}, it used {say.percent(use.own)} of the node's {use.cpus:g} CPUs itself and all others "
            f"used {say.percent(use.others)}: its own work takes the CPUs, too."
        )
    if use.others_waiting < OTHERS:
        rest = f"the hypervisor stole {say.percent(use.stolen)}, and interrupts took {say.percent(use.interrupts)}"
        return f"{while_waiting}, other cgroups used {say.percent(use.others)} of the node's {use.cpus:g} CPUs, {rest}."
    return None


def _harmless(waits: RunWaits, found: Waiting) -> str | None:
    """Why waiting is not the trouble of those who are served; None: it is, or nobody knows."""
    waited = say.ms(waits.total_us(waits.free))
    if not found.hurt.timed:
        if waits.total_us(waits.free) >= UNTIMED_US and found.share >= UNTIMED_SHARE:
            return None
        return f"Threads waited {waited} for a CPU, {say.percent(found.share)} of the time that they wanted one."
    if found.hurt.severity is None:
        return f"Threads waited {waited} for a CPU, and meanwhile {found.hurt.suffered:,} answers were late."
    if found.own_late >= OTHERS:
        return (
            f"While late answers were in progress, it used {say.percent(min(1.0, found.own_late))} of the node's CPU "
            "time itself: its own work takes the CPUs."
        )
    if found.held.others_quick:
        return (
            f"Late answers took {say.ms(found.held.typical_us)} (median), and only "
            f"{say.percent(found.held.slow_ratio)} of the answers sent meanwhile were slow: its threads ran."
        )
    if found.unread.answers >= unread.LEAST and found.unread.ratio < UNREAD:
        return (
            f"Requests of late answers lay unread for {say.percent(found.unread.ratio)} of the time that the answers "
            "took: the server's threads ran, and then waited for something else."
        )
    if not found.held.often:
        return (
            f"Threads waited for a CPU during {found.held.hits:,} of {found.held.of:,} late answers for at least "
            f"{say.percent(held_up.HELD_UP)} of their time, not counting what they wait while answers are quick."
        )
    if not found.held.told:
        return (
            "Ticks in which threads waited longer for a CPU do not have a larger share of late answers (rank "
            f"correlation {found.held.dose.rho:.2f})."
        )
    return None


def _found(snapshot: Snapshot, waits: RunWaits, use: CpuUse, found: Waiting) -> Found:
    named = run_waits.neighbours(snapshot, use.ticks)
    name, (who, have) = say.who(snapshot), _who(named, use)
    late = waiting.consequence(snapshot, found)
    known = sum(one.used for one in named)
    return Found(
        cause=ID,
        score=round(min(1.0, 0.5 + 0.3 * found.share + 0.2 * (found.hurt.severity is not None)), 4),
        confidence=_confidence(waits, found, known, use),
        severity=found.hurt.severity,
        harm=found.hurt.harm,
        title=f"{name} {late}: {who} {have} {say.percent(use.others)} of the CPU time it waits for",
        summary=f"{waiting.harm_sentence(found)} Threads of {name} were runnable but waited for "
        f"{say.percent(found.share)} of the time that they wanted a CPU. Meanwhile it got "
        f"{say.cpus(use.own * use.cpus)}, and other cgroups got {say.cpus(use.others * use.cpus)} of the node's "
        f"{use.cpus:g} CPUs. No limit throttled it.",
        onset_us=waiting.onset(snapshot, waits, found),
        last_us=waiting.extent(snapshot, waits)[1],
        impact=waiting.impact(snapshot, waits, found),
        evidence=[
            *waiting.evidence(snapshot, waits, found),
            _node(snapshot, waits, use),
            *_named(snapshot, waits, named, use),
            *_affinity(snapshot, use),
        ],
    )


def _confidence(waits: RunWaits, found: Waiting, known: float, use: CpuUse) -> Confidence:
    # Pressure says that some thread waited, not how many or whether those that answer.
    if waits.source == "pressure" or not found.hurt.timed or known < 0.5 * use.others:
        return "medium"
    return "high" if found.share >= 0.3 and use.idle_waiting < 0.1 else "medium"


def _who(named: list[Neighbour], use: CpuUse) -> tuple[str, str]:
    """Those that had the CPUs, as far as they are known by name, and the verb that fits."""
    notable = [one for one in named if one.used >= NOTABLE]
    if not notable:
        return "other cgroups", "take"
    # A path is told by its end.
    full = waiting.name_of(notable[0].view)
    first = full if notable[0].view.fact("workload.container") else full.rstrip("/").rpartition("/")[2]
    if sum(one.used for one in notable) < ALL_OF_THEM * use.others:
        return f"other cgroups, {first} among them,", "take"
    return (first, "takes") if len(notable) == 1 else (f"{first} and {say.count(len(notable) - 1, 'other')}", "take")


def _node(snapshot: Snapshot, waits: RunWaits, use: CpuUse) -> Evidence:
    told = "waits" if use.ticks.sum() == waits.spans.sum() else "waits and late answers"
    return Evidence(
        id="node_full",
        statement=f"CPU time of the node in ticks with {told}: other cgroups / this one / idle",
        value=f"{say.percent(use.others)} / {say.percent(use.own)} / {say.percent(use.idle)}",
        comparison=f"{use.cpus:g} CPUs",
        numbers={"others": use.others, "own": use.own, "idle": use.idle, "cpus": use.cpus},
        series=waiting.refs(snapshot, waits, (snapshot.node,), "host_idle_us", "host_runnable")
        + waiting.refs(snapshot, waits, (snapshot.subject,), "cpu_usage_us"),
    )


def _named(snapshot: Snapshot, waits: RunWaits, named: list[Neighbour], use: CpuUse) -> list[Evidence]:
    """Who they are, how much each used, and by which weight and limit."""
    own = number(snapshot.subject.fact("cpu.weight"))
    found = []
    for at, one in enumerate(named):
        weight, limit = number(one.view.fact("cpu.weight")), quota_of(one.view)
        numbers = {"cpus": one.cpus, "share": one.used}
        told = ["no CPU limit" if limit is None else f"limit {limit:g} CPU"]
        if (request := cpu_requests.reported(one.view)) is not None:
            numbers["requested_cpus"] = request
            told.append(_request(request, cpu_requests.reported(snapshot.subject)))
        if weight is not None:
            numbers["weight"] = weight
            told.append(f"weight {weight:g}" + (f" (this one: {own:g})" if own is not None else ""))
        found.append(
            Evidence(
                id=f"neighbour_{at + 1}",
                statement=f"CPU that {waiting.name_of(one.view)} used while threads waited",
                value=say.cpus(one.cpus),
                comparison=", ".join(told),
                numbers=numbers,
                series=waiting.refs(snapshot, waits, (one.view,), "cpu_usage_us"),
            )
        )
    return found


def _request(theirs: float, own: float | None) -> str:
    beside = "" if own is None else f" (this one: {own:g} CPU)"
    return f"request {theirs:g} CPU{beside}"


def _affinity(snapshot: Snapshot, use: CpuUse) -> list[Evidence]:
    allowed = run_waits.pinned(snapshot)
    if allowed is None:
        return []
    return [
        Evidence(
            id="affinity",
            statement="CPUs that its processes may run on",
            value=f"{allowed:g} of {use.cpus:g}",
            numbers={"allowed_cpus": allowed, "cpus": use.cpus},
        )
    ]


def _shown(snapshot: Snapshot) -> bool:
    """The node was full in some ticks, threads waited for long, and answers were late, or nobody times them."""
    cpus, idle = number(snapshot.node.fact("node.cpus")), snapshot.node.series.get("host_idle_us")
    if idle is None or not cpus or not (idle <= 2 * IDLE * cpus * snapshot.step_us).any():
        return False
    return run_waits.may_wait(snapshot, LEAST_US) and held_up.slow_or_untimed(snapshot)


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    waits = run_waits.read_waits(snapshot)
    if waits is None:
        return []
    judged = waiting.judge(snapshot, waits)
    ticks = judged.ticks
    named, use = run_waits.neighbours(snapshot, ticks), run_waits.cpu_use(snapshot, waits, ticks)
    others = use.others * use.cpus if use is not None else 0.0
    need = waiting.needed_cpus(snapshot, waits)
    proposals = [
        cpu_weight.propose(snapshot, found, named, need),
        neighbour_limit.propose(snapshot, found, named, need, others),
        None if need is None else dedicated_cpus.propose(snapshot, found, need),
        move_apart.propose(snapshot, found, named, waiting.delayed(judged)),
    ]
    return [fix for fix in proposals if fix is not None]


CAUSE = Cause(
    id=ID,
    title="Neighbors on the node take the CPU",
    summary="Threads of the server are runnable but wait because other cgroups use the node's CPUs.",
    mechanism="When more threads are runnable than the node has CPUs, the kernel shares the CPUs by the weight of the "
    "cgroups (`cpu.weight`, in Kubernetes from `resources.requests.cpu`). A server with a small weight beside busy "
    "neighbors runs rarely: its threads stay runnable, requests wait in its sockets, and its own CPU use falls. No "
    "counter of the server shows it because the server is neither throttled nor busy. Found where its threads waited "
    "for a CPU (run delay) outside throttled periods, other cgroups used the node's CPUs meanwhile, hardly any CPU "
    "time was idle, and late answers fall into these waits, during which their requests lay unread.",
    needs=NEEDS,
    rivals=(
        "app/lock_or_dependency",
        "cpu/gc_throttling",
        "cpu/limit_too_low",
        "cpu/request_burst",
        "cpu/steal",
        "dns/single_socket_serialization",
        "dns/slow_upstream",
        "dns/udp_loss",
    ),
    # Late answers fall into the waits of its own threads, or it is not found.
    excludes=("app/lock_or_dependency", "dns/single_socket_serialization", "dns/slow_upstream", "dns/udp_loss"),
    # How long the upstream took is measured for each query; that a thread waited for a CPU meanwhile is not why.
    yields_to=("dns/slow_upstream",),
    detect=detect,
    propose=propose,
    false_positives=(
        "A batch job that was given a small weight on purpose waits as intended and harms no request.",
        "Real-time threads take the CPU regardless of weights: they are among the neighbors, and only a limit or "
        "another node helps.",
    ),
    references=(
        "https://docs.kernel.org/admin-guide/cgroup-v2.html#weights",
        "https://docs.kernel.org/scheduler/sched-stats.html",
        "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",
    ),
    looks_like_freezes=True,
    signs=Signs(("host_idle_us", *run_waits.SIGNS, *held_up.SIGNS), _shown),
)
