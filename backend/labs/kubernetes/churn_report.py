"""The result of `jitterscope lab kubernetes --churn`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Named(BaseModel):
    """Names of what ran, compared with the API server's: namespace, pod, owner, and container.

    `cgroups`: of pods and containers, as the product lists them. `wrong`: those of which it ever said something else.
    `unnamed`: those that never got their full name, with how many seconds they were seen. `named_after_*`: from the
    first tick of a cgroup until the collector knew its name; those ticks are shown under that name too.
    `pods_not_seen`: pods whose containers ran and of which the product has nothing.
    """

    model_config = ConfigDict(extra="forbid")

    cgroups: int
    right: int
    wrong: list[str]
    unnamed: dict[str, float]
    pods_not_seen: list[str]
    named_after_p50_ms: float
    named_after_p95_ms: float
    named_after_max_ms: float


class Collector(BaseModel):
    """Figures of one collector.

    `missing_ticks`: not stored. `late_ticks`: stored ticks that began over 10 ms after their deadline, by the stored
    lateness. `counted_*`: the same by the collector's own page. `cpu`: CPUs that it used on average.
    """

    model_config = ConfigDict(extra="forbid")

    node: str
    pods: int
    ticks: int
    missing_ticks: int
    late_ticks: int
    latest_ms: float
    counted_ticks: int
    counted_missed_ticks: int
    counted_late_ticks: int
    cpu: float
    memory_first_mib: float
    memory_max_mib: float
    memory_last_mib: float
    memory_limit_mib: float
    dropped_batches: int


class Report(BaseModel):
    """The report of one run.

    `moved`: pods of a Deployment that the drain restarted on the other node. `drain_s`: until only pods of DaemonSets
    were left on the drained node. `kubelet_away_s`: from the kubelet's end until it had started a pod again.
    """

    model_config = ConfigDict(extra="forbid")

    seconds: float
    created: int
    deleted: int
    drained: str
    drain_s: float
    moved: int
    kubelet_restarted: str
    kubelet_away_s: float
    names: Named
    collectors: list[Collector]


def table(report: Report) -> str:
    """Human-readable table."""
    names = report.names
    lines = [
        f"{report.created} pods created and {report.deleted} deleted in {report.seconds:.0f} s",
        f"{report.drained} drained in {report.drain_s:.1f} s, {report.moved} pods moved; kubelet of "
        f"{report.kubelet_restarted} restarted, a pod started {report.kubelet_away_s:.1f} s later",
        f"Names: {names.right} of {names.cgroups} right, {len(names.wrong)} wrong, {len(names.unnamed)} without; "
        f"known after p50 {names.named_after_p50_ms:.0f} ms, p95 {names.named_after_p95_ms:.0f} ms, at most "
        f"{names.named_after_max_ms:.0f} ms; {len(names.pods_not_seen)} pods not seen",
    ]
    lines += [
        f"{one.node}: {one.pods} pods, {one.ticks} ticks, {one.missing_ticks} missing, {one.late_ticks} late (at most "
        f"{one.latest_ms:.0f} ms); memory {one.memory_first_mib:.0f} MiB at first, at most {one.memory_max_mib:.0f}, "
        f"{one.memory_last_mib:.0f} at last, limit {one.memory_limit_mib:.0f}; {one.cpu:.3f} CPU"
        for one in report.collectors
    ]
    return "\n".join(lines)
