"""Input and output of a what-if: a recorded trace, the setting to try, and a prediction with intervals.

Plain data shared by the models, the REST API, the verification, and the labs; nothing here computes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.snapshot import Distribution, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Setting:
    """Everything a fix of this product can change. None: no CPU limit, GOGC off, no GOMEMLIMIT.

    `cpu_limit` in CPUs (quota / period), `burst_us` as cpu.cfs_burst_us (at most the quota), `gomaxprocs` as in effect
    (None if the process is no Go program), `gogc` in percent, `gomemlimit_bytes` as the runtime's. `replicas`: how many
    share the load of each one that ran, 1 or more.
    """

    cpu_limit: float | None
    period_us: int = 100_000
    burst_us: int = 0
    gomaxprocs: int | None = None
    gogc: float | None = 100.0
    gomemlimit_bytes: int | None = None
    replicas: float = 1.0

    @property
    def quota_us(self) -> float | None:
        return None if self.cpu_limit is None else self.cpu_limit * self.period_us


@dataclass(frozen=True, slots=True)
class GcCycle:
    """One cycle's span (µs, UTC); the live heap it left and the goal it set (bytes), if the source knows them."""

    start_us: int
    end_us: int
    live_bytes: int | None = None
    goal_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """What was recorded of one subject over [start_us, start_us + len(usage_us) * step_us), under `setting`.

    Per tick, length n, NaN where a tick is missing: `usage_us` CPU used (µs), `throttled_us` time throttled (µs, as the
    kernel counted it: cgroup v1 sums it over CPUs), `periods` and `throttled_periods` counts, `arrivals` requests that
    reached the servers, `answers` those that they answered. `sent_us`/`latency_us` (µs) are single requests, complete
    within `complete`; `slow_threshold_us` is what counts as slow. `node_cpus` bounds what runs at once.
    """

    start_us: int
    step_us: int
    setting: Setting
    usage_us: FloatArray
    throttled_us: FloatArray
    periods: FloatArray
    throttled_periods: FloatArray
    arrivals: FloatArray
    answers: FloatArray
    node_cpus: float
    gc: tuple[GcCycle, ...] = ()
    sent_us: IntArray | None = None
    latency_us: IntArray | None = None
    complete: tuple[tuple[int, int], ...] = ()
    slow_threshold_us: int = SLOW_US
    noun: str = "queries"  # what its requests are called
    # Slow answers of each tick; None where they were not counted.
    slow: FloatArray | None = None
    # Latencies of all answers by the tick in which they left.
    latency_histogram: Distribution | None = None
    is_go: bool = False
    # Whether a cycle stops the program, so that queries wait until its work is done.
    gc_stops: bool = False
    # Whether the spans of `gc` are exact rather than the longest possible ones.
    gc_exact: bool = True
    # Live heap after a cycle; `heap_measured`: by the runtime, not estimated from the container's memory.
    heap_live_bytes: float | None = None
    heap_measured: bool = False

    @property
    def seconds(self) -> float:
        return len(self.usage_us) * self.step_us / 1e6


@dataclass(frozen=True, slots=True)
class SimulatedTimeline:
    """The recorded window as it would have been; per tick of `step_us`, length n."""

    start_us: int
    step_us: int
    cpu_ratio: FloatArray  # CPUs used
    throttled_us: FloatArray  # wall time in which the group could not run, 0..step_us
    latency_max_us: FloatArray  # of the queries that arrived in the tick; NaN without queries
    gc: tuple[GcCycle, ...] = ()


@dataclass(frozen=True, slots=True)
class Prediction:
    """What `setting` would have made of the trace.

    `throttled_ms_per_min` counts like the trace's kernel (cgroup v1 sums over CPUs), so that it compares with
    `cpu.stat` before and after.

    Ratios are of periods and of queries (0..1). An entry is None if the trace does not support it; `cannot_tell` then
    says why. `notes` are sentences for users ("one cycle needs 3 quotas, burst adds one").
    """

    setting: Setting
    throttled_ms_per_min: Interval | None
    throttled_ratio: Interval | None
    slow_ratio: Interval | None
    p50_ms: Interval | None
    p99_ms: Interval | None
    max_ms: Interval | None
    gc_cycles_per_min: Interval | None
    cpu_mean: Interval | None
    timeline: SimulatedTimeline | None = None
    cannot_tell: str | None = None
    notes: tuple[str, ...] = ()


Metric = Literal["throttled_ms_per_min", "throttled_ratio", "slow_ratio", "p50_ms", "p99_ms", "gc_cycles_per_min"]


@dataclass(frozen=True, slots=True)
class Goal:
    """What a search must reach: `metric` at most `at_most` (its upper bound, at the interval's level)."""

    metric: Metric
    at_most: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """A fix with its prediction and rating: `score` sorts (higher is better), `sentence` is an assessment for users."""

    fix_id: str
    prediction: Prediction
    score: float
    sentence: str
    caveats: tuple[str, ...] = field(default_factory=tuple)
