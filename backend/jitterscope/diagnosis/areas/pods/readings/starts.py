"""How long pods took to start on a node, by phase, from the kubelet's log and the histograms of kubelet and Cilium."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from jitterscope.diagnosis.areas.pods.readings import events as pod_events
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signs import Signs, happened
from jitterscope.diagnosis.core.sketch import quantile_us, value_of
from jitterscope.diagnosis.core.snapshot import Distribution, FloatArray, Snapshot
from jitterscope.diagnosis.programs.versions import parse_version

# The pod startup latency objective: 99 % of schedulable stateless pods per cluster-day start within 5 s, without
# pulling images and running init containers (kubernetes/community, sig-scalability/slos/pod_startup_latency.md).
OBJECTIVE_US = 5_000_000.0
OBJECTIVE_QUANTILE = 0.99
# Fewer late starts can be two unlucky pods.
FEW_LATE = 2
UNLIKELY = 0.01
PERCENTILES = (0.5, 0.9, 0.99)
# Above this share of image pulls, a whole start does not count for the objective.
HARDLY_PULLING = 0.1
# Up to this share of the starts on the kubelet's page, at least one, may be missing from its log: they ran before the
# window, or the journal dropped them.
FEW_UNLOGGED = 0.2
SLI_SINCE = (1, 27)

PHASES = (
    "pod_start_sli_us",
    "pod_start_total_us",
    "pod_sandbox_us",
    "pod_image_pull_us",
    "pod_container_start_us",
    "pod_cgroup_us",
    "pod_cni_us",
    "pod_bpf_load_us",
    "pod_bpf_compile_us",
)


@dataclass(frozen=True, slots=True)
class Durations:
    """A log-bucket histogram of a window: parallel arrays of buckets and counts."""

    bucket: NDArray[np.int64]
    count: NDArray[np.int64]

    @property
    def n(self) -> int:
        return int(self.count.sum())

    @property
    def total_us(self) -> float:
        return float((value_of(self.bucket) * self.count).sum())

    @property
    def mean_us(self) -> float:
        return self.total_us / self.n if self.n else math.nan

    def quantile_us(self, q: float) -> float:
        return quantile_us(self.bucket, self.count, q)

    def over(self, limit_us: float) -> int:
        return int(self.count[value_of(self.bucket) > limit_us].sum())

    def values_us(self) -> FloatArray:
        """Every value, ascending; within 2 %."""
        return np.sort(np.repeat(value_of(self.bucket), self.count))


@dataclass(frozen=True, slots=True)
class Nothing:
    """It was measured, and is not the case; `reason` says so with numbers."""

    reason: str
    numbers: dict[str, float]


@dataclass(frozen=True, slots=True)
class Unknown:
    """It was not measured: which metrics are missing, and why."""

    missing: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class PodStarts:
    """What was observed in a window; `basis` says by which starts the objective is judged.

    `told` are the same starts by tick: the single ones of the kubelet's log, or those of its metrics page.
    """

    basis: Literal["sli", "total"]
    starts: Durations
    phases: dict[str, Durations]
    told: Distribution

    @property
    def late(self) -> int:
        return self.starts.over(OBJECTIVE_US)

    @property
    def metric(self) -> str:
        return f"pod_start_{self.basis}_us"

    def phase(self, metric: str) -> Durations | None:
        return self.phases.get(metric)

    def per_start_us(self, metric: str) -> float | None:
        """Time of a phase per start, all its operations together; None if it was not measured."""
        found = self.phases.get(metric)
        return None if found is None else found.total_us / self.starts.n


def durations(found: Distribution) -> Durations:
    """All ticks of a distribution together."""
    return Durations(np.asarray(found.bucket, dtype=np.int64), np.asarray(found.count, dtype=np.int64))


def _told(snapshot: Snapshot, metric: str) -> Distribution | None:
    """From the kubelet's metrics page, or from its log; None if nothing was observed.

    Whole starts are read from the log if it has them: the kubelet counts some of them on its page long after their pods
    run, and in wide buckets.
    """
    page = snapshot.node.distributions.get(metric)
    counted = 0 if page is None else int(page.count.sum())
    if metric in _WHOLE or (metric in pod_events.STANDS_FOR and not counted):
        logged = pod_events.distribution(snapshot, metric)
        if logged is not None and int(logged.count.sum()) >= counted - max(1, FEW_UNLOGGED * counted):
            return logged
    return page if counted else None


_WHOLE = ("pod_start_sli_us", "pod_start_total_us")


def may_have_started(snapshot: Snapshot) -> bool:
    """For a narrow snapshot: false if no pod start was reported."""
    return happened(snapshot, pod_events.KIND) or any(name in snapshot.node.distributions for name in _WHOLE)


SIGNS = Signs((*_WHOLE, pod_events.KIND), may_have_started)


@reading
def read(snapshot: Snapshot) -> PodStarts | Nothing | Unknown:
    """The starts of a node's window, or why there are none to judge."""
    told = {metric: found for metric in PHASES if (found := _told(snapshot, metric)) is not None}
    phases = {metric: durations(found) for metric, found in told.items()}
    kubelet = snapshot.node.fact("node.kubelet")
    unavailable = snapshot.unavailable.get("kubelet_metrics")
    if (sli := phases.get("pod_start_sli_us")) is not None:
        return PodStarts("sli", sli, phases, told["pod_start_sli_us"])
    total, version = phases.get("pod_start_total_us"), parse_version(kubelet)
    if total is not None and version is not None and version < SLI_SINCE:
        pulls = phases.get("pod_image_pull_us")
        if pulls is None or pulls.total_us <= HARDLY_PULLING * total.total_us:
            return PodStarts("total", total, phases, told["pod_start_total_us"])
        share = pulls.total_us / total.total_us
        return _lacking(
            f"this kubelet ({kubelet}) counts image pulls as part of the start; they took up to {100 * share:.0f} % "
            "of it",
        )
    if phases:
        return _lacking("pods are being started, but the kubelet reported no complete start")
    if kubelet is not None:
        return Nothing("No pod started in this window: 0 starts.", {"starts": 0.0})
    why = f"kubelet_metrics is not available: {unavailable}" if unavailable else "no data from kubelet_metrics"
    return _lacking(why)


def _lacking(why: str) -> Unknown:
    return Unknown(("pod_start_sli_us",), f"Needs pod_start_sli_us; {why}.")


def chance_of_late(late: int, starts: int) -> float:
    """Chance (0..1) of at least this many late starts if the objective is just met."""
    allowed = 1.0 - OBJECTIVE_QUANTILE
    below = sum(math.comb(starts, k) * allowed**k * (1 - allowed) ** (starts - k) for k in range(min(late, starts)))
    return max(0.0, min(1.0, 1.0 - below))


def missed(late: int, starts: int) -> bool:
    """Whether more starts were late than the objective allows, beyond chance."""
    return late >= FEW_LATE and chance_of_late(late, starts) < UNLIKELY
