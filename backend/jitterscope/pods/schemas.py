"""REST shapes of pod starts. Times are µs since the epoch, durations µs, ratios 0..1; None: not measured."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from jitterscope.diagnosis.core.finding import Interval
from jitterscope.incidents.api.schemas import IncidentRef
from jitterscope.kit.schema import Schema


class StartupNode(Schema):
    id: int
    name: str


class StartupPercentiles(Schema):
    starts: int
    late: int = Field(description="Starts over the objective")
    p50_us: float
    p90_us: float
    p99_us: float


class StartupPart(Schema):
    """A phase of a start; `inside` is the id of the phase that it is a part of."""

    id: str
    title: str
    inside: str | None
    in_objective: bool
    operations: int
    mean_us: float = Field(description="Per start, all its operations in total")
    share_ratio: float = Field(description="Share of the mean start")
    p50_us: float
    p90_us: float
    p99_us: float


class StartupStackPart(Schema):
    id: str
    us: float


class StartupStack(Schema):
    """A percentile of the starts, split into phases at the same percentile, scaled down if their sum is larger."""

    q: float
    start_us: float
    parts: list[StartupStackPart]


class StartupPoint(Schema):
    """What one kubelet scrape reported."""

    at_us: int
    starts: int
    late: int
    p50_us: float
    max_us: float


class StartupPod(Schema):
    """One pod, as the kubelet logged it; `start_us` excludes image pulls."""

    namespace: str
    pod: str
    created_us: int
    start_us: float
    total_us: float
    image_pull_us: float | None = Field(
        description="From the start of the first pull to the end of the last; null: nothing was pulled"
    )


class StartupProgram(Schema):
    name: str
    instructions: int | None
    verified_instructions: int | None
    loads: int
    failed: int
    per_start_us: float
    share_ratio: float = Field(description="Share of the verifier's time")
    unused: str | None = Field(description="Why pods do not need it")


class StartupVerifier(Schema):
    """A program that loads eBPF programs for each pod. `waits`: whether pods wait for it; `reason`: why not."""

    command: str
    waits: bool
    reason: str | None
    sets: int
    loads: int
    per_start_us: float
    share_ratio: float | None = Field(
        description="Share of the time of all starts; null: programs were loaded for pods that have not started, too"
    )
    programs: list[StartupProgram]


class StartupChange(Schema):
    """Starts before and after a version changed, or before and after a requested time."""

    at_us: int
    what: Literal["Cilium", "kubelet", "kernel"] | None
    old: str | None
    new: str | None
    before: StartupPercentiles | None
    after: StartupPercentiles | None


class PodStart(Schema):
    from_us: int
    to_us: int
    node: StartupNode | None = Field(description="null: no node reports pod starts")
    nodes: list[StartupNode]
    objective_us: float
    basis: Literal["sli", "total"] | None = Field(description="total: an old kubelet, and hardly any image pulls")
    starts: StartupPercentiles | None
    with_images: StartupPercentiles | None
    chance_ratio: float | None = Field(
        description="Probability of this many late starts if the objective were just met"
    )
    missed: bool = Field(description="More late starts than the objective allows, beyond chance")
    parts: list[StartupPart]
    stacks: list[StartupStack]
    over_time: list[StartupPoint]
    slowest: list[StartupPod] = Field(description="By name, where the kubelet's log is read")
    verifier: StartupVerifier | None
    changes: list[StartupChange]
    kubelet: str | None
    cilium: str | None
    kernel: str | None
    incidents: list[IncidentRef]
    notes: list[str] = Field(description="What is not known here and what would provide it")


class StartupWhatIfPercentile(Schema):
    q: float
    before_us: float
    after_us: Interval


class StartupWhatIf(Schema):
    """Starts without programs; `programs` are those left out, all of them if none was named."""

    from_us: int
    to_us: int
    node: StartupNode
    command: str
    programs: list[str]
    removed_us: float = Field(description="Mean time saved in a start that loads them")
    starts: int
    late: int
    late_ratio: Interval
    percentiles: list[StartupWhatIfPercentile]
