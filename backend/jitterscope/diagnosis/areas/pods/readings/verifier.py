"""Whether pods wait for the eBPF verifier when they start. Shared by the causes of slow starts and by the page."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jitterscope.diagnosis.areas.pods.readings import bpf_loads
from jitterscope.diagnosis.areas.pods.readings import starts as pod_starts
from jitterscope.diagnosis.areas.pods.readings.bpf_loads import Owner
from jitterscope.diagnosis.areas.pods.readings.starts import OBJECTIVE_US, Nothing, PodStarts, Unknown
from jitterscope.diagnosis.areas.pods.whatif.pod_start import StartsWithout, without
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.snapshot import Snapshot

NEEDS = ("bpf_load_us", "pod_start_sli_us")
# A tenth of a start and a tenth of a second are worth a change; less is not.
LEAST_SHARE, LEAST_US = 0.1, 100_000.0
# Verification happens during sandbox creation (its CNI plugin waits for the agent): it cannot take longer than that.
INSIDE = 0.8
# Sets of programs per start: with fewer, most pods waited for none; with more, it is an agent that restarts.
FEWEST_SETS, MOST_SETS = 0.3, 5.0
# Others can load more than the one that pods wait for: a monitor that restarts.
_MOST_OWNERS = 4


@dataclass(frozen=True, slots=True)
class Verifying:
    """The time that loading programs adds to a start, in µs."""

    starts: PodStarts
    owner: Owner
    gone: StartsWithout  # the same starts without the verifier

    @property
    def per_start_us(self) -> float:
        return self.owner.per_set_us

    @property
    def share(self) -> float:
        return share(self.owner, self.starts)

    @property
    def covered_ratio(self) -> float:
        return covered(self.owner, self.starts)

    @property
    def missed(self) -> bool:
        return pod_starts.missed(self.starts.late, self.starts.starts.n)


def covered(owner: Owner, starts: PodStarts) -> float:
    """Share of the starts that loaded programs, 0..1: pods on the host network load none."""
    return min(1.0, owner.sets / starts.starts.n)


def share(owner: Owner, starts: PodStarts) -> float:
    """Share of the time of all starts, of which some may load nothing. Above 1: see `share_of_starts`."""
    return owner.per_set_us * covered(owner, starts) / starts.starts.mean_us


def share_of_starts(owner: Owner, starts: PodStarts) -> float | None:
    """The share if it can be told: not while programs are also loaded for pods that have not started yet."""
    found = share(owner, starts)
    return found if found <= 1 else None


@reading
def find(snapshot: Snapshot) -> Verifying | Nothing | Unknown:
    """The verifier's part of the starts if they wait for it; or why it does not make them slow."""
    node = snapshot.node
    starts = pod_starts.read(snapshot)
    gone = [] if has(node, "bpf_load_us") else ["bpf_load_us"]
    if isinstance(starts, Unknown):
        return starts if not gone else replace(starts, missing=(*gone, *starts.missing))
    if isinstance(starts, Nothing):
        return starts
    if gone:
        why = snapshot.unavailable.get("bpf_loads")
        reason = f"bpf_loads is not available: {why}" if why else "no data from the collector source bpf_loads"
        return Unknown(tuple(gone), f"Needs bpf_load_us; {reason}.")
    owners = bpf_loads.loaders(snapshot)
    if not owners and np.nansum(series(node, "bpf_loads", snapshot.ticks)) > 0:
        return Unknown(("bpf_load_us",), "Needs bpf_load_us by program; loads were counted, but none was recorded.")
    if not owners:
        n = starts.starts.n
        reason = f"{say.count(n, 'pod')} started and no eBPF program was loaded: 0 loads."
        return Nothing(reason, {"starts": float(n), "loads": 0.0})
    judged = [_judge(starts, owner) for owner in owners[:_MOST_OWNERS]]
    return next((case for case in judged if isinstance(case, Verifying)), judged[0])


def _judge(starts: PodStarts, owner: Owner) -> Verifying | Nothing:
    """Whether the starts wait for this owner."""
    case = Verifying(starts, owner, without(starts.starts, owner.sets_us(), covered(owner, starts)))
    return _not_worth(case) or _not_waited_for(case) or _not_why(case) or case


def _numbers(case: Verifying) -> dict[str, float]:
    return {
        "starts": float(case.starts.starts.n), "late": float(case.starts.late), "per_start_us": case.per_start_us,
        "share": case.share, "sets": float(case.owner.sets), "loads": float(case.owner.loads),
    }  # fmt: skip


def _not_worth(case: Verifying) -> Nothing | None:
    if case.share >= LEAST_SHARE and case.per_start_us >= LEAST_US:
        return None
    return Nothing(
        f"{case.owner.command} loads programs for {say.ms(case.per_start_us)} per pod, "
        f"{say.percent(case.share)} of all start time (mean {say.ms(case.starts.starts.mean_us)}).",
        _numbers(case),
    )


def _not_waited_for(case: Verifying) -> Nothing | None:
    """Loads that run beside the starts delay none of them."""
    sets, n, command = case.owner.sets, case.starts.starts.n, case.owner.command
    if sets < FEWEST_SETS * n or sets > MOST_SETS * n + 2:
        return Nothing(
            f"{command} loaded its programs {say.count(sets, 'time')} while {say.count(n, 'pod')} started: not "
            "because of them.",
            _numbers(case),
        )
    sandbox = case.starts.phase("pod_sandbox_us")
    within_us = case.starts.starts.mean_us if sandbox is None else sandbox.mean_us
    # Pods that load nothing reduce the mean of all sandboxes.
    if within_us >= INSIDE * case.per_start_us * case.covered_ratio:
        return None
    what = "Starts" if sandbox is None else "Sandboxes, which wait for the CNI plugin,"
    return Nothing(
        f"{what} took {say.ms(within_us)} on average, less than the {say.ms(case.per_start_us)} in which "
        f"{command} loaded a set of programs: pods do not wait for it.",
        _numbers(case) | {"within_us": within_us},
    )


def _not_why(case: Verifying) -> Nothing | None:
    """If the objective is missed, most of the late starts must be in time without the verifier."""
    if not case.missed:
        return None
    n, late = case.starts.starts.n, case.starts.late
    left = round(case.gone.late_ratio.expected * n)
    if left <= late / 2:
        return None
    return Nothing(
        f"Without the {say.ms(case.per_start_us)} in which {case.owner.command} loads programs, {left} of {n} starts "
        f"would still take more than {OBJECTIVE_US / 1e6:.0f} s; with it, {late} do.",
        _numbers(case) | {"late_without": float(left)},
    )
