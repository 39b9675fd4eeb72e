"""Parameters of the service-gc lab and what each variant sets; command-line values override the variant's.

The fault: a service keeps so many live objects that one GC cycle needs more CPU than its limit allows per period,
although its mean demand is far below it. Variants differ in the runtime. Look-alikes are slow for another reason, or
not at all.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from labs.limited import Limit


class Variant(StrEnum):
    GO = "go"
    GRPC = "grpc"
    JVM_PARALLEL = "jvm-parallel"
    JVM_G1 = "jvm-g1"
    NODE = "node"
    RUBY = "ruby"
    HEALTHY = "healthy"
    NO_LIMIT = "no-limit"
    GC_PAUSE = "gc-pause"
    OVERLOAD = "overload"
    OWN_CODE = "own-code"
    START_UP = "start-up"


class Runtime(StrEnum):
    GO = "go"
    JVM = "jvm"
    NODE = "node"
    RUBY = "ruby"


class Parameters(BaseModel):
    """One run. `quota_us` None: 60 % of what the load needs, measured without a limit before the run."""

    model_config = ConfigDict(extra="forbid")

    runtime: Runtime = Field(Runtime.GO, description="runtime of the service")
    quota_us: int | None = Field(50_000, ge=-1, description="CPU time per period (µs); -1: no limit")
    period_us: int = Field(100_000, ge=1_000, le=1_000_000, description="length of a CFS period (µs)")
    burst_us: int = Field(0, ge=0, description="CFS burst (µs), at most the quota")
    grpc: int = Field(0, ge=0, le=64, description="serve gRPC in Go to this many connections of clients; 0: HTTP/1.1")
    gomaxprocs: int = Field(4, ge=1, le=256, description="GOMAXPROCS of the Go service")
    gogc: str = Field("100", pattern=r"^(off|\d{1,5})$", description="GOGC of the Go service: a percentage or off")
    gomemlimit: str | None = Field(None, pattern=r"^\d+(B|KiB|MiB|GiB)?$", description="GOMEMLIMIT of the Go service")
    collector: str = Field("Parallel", pattern="^(Parallel|G1|Serial)$", description="garbage collector of the JVM")
    cpus: int = Field(4, ge=1, le=256, description="CPUs that the JVM assumes (-XX:ActiveProcessorCount)")
    heap_mib: int = Field(420, ge=32, le=16_384, description="heap limit of a JVM or of Node in MiB")
    objects: int = Field(800_000, ge=0, le=20_000_000, description="live objects of about 128 bytes")
    replaced: int = Field(0, ge=0, le=100_000, description="objects that each request replaces")
    answer_bytes: int = Field(30_000, ge=1, le=10_000_000, description="size of an answer")
    hashed_kib: int = Field(0, ge=0, le=1_000_000, description="KiB that each request hashes: its CPU time")
    slow_every: int = Field(0, ge=0, description="one in this many requests waits in the service's own code; 0: none")
    slow_ms: int = Field(0, ge=0, le=10_000, description="how long it waits")
    qps: float = Field(300, gt=0, le=20_000, description="requests per second")
    seconds: float = Field(60, ge=5, le=3_600, description="length of the measured window")
    settle_s: float = Field(10, ge=0, le=600, description="load before it; 0: the window begins with the service")

    @model_validator(mode="after")
    def _objects_fit(self) -> Parameters:
        if self.replaced > self.objects:
            raise ValueError("--replaced is more than --objects")
        return self

    @model_validator(mode="after")
    def _only_go_serves_grpc(self) -> Parameters:
        if self.grpc and self.runtime is not Runtime.GO:
            raise ValueError("--grpc needs --runtime go")
        return self

    @property
    def limit(self) -> Limit:
        return Limit(-1 if self.quota_us is None else self.quota_us, self.period_us, self.burst_us)


_GO = {"hashed_kib": 300}  # 0.3 ms of CPU for each request
# A tiny heap, so that no GC cycle takes long.
_SMALL = {"objects": 1_000}
# Objects that live for a while fill the old generation, as a cache with turnover does.
_JVM = {"runtime": Runtime.JVM, "objects": 900_000, "replaced": 400, "qps": 200.0}
_VARIANTS: dict[Variant, tuple[str, dict[str, Any]]] = {
    Variant.GO: ("cpu/gc_throttling", _GO),
    # The same work, with about 75 calls/s on each connection: while the service is stalled, many are open on one.
    Variant.GRPC: ("cpu/gc_throttling", {**_GO, "grpc": 4}),
    Variant.JVM_PARALLEL: ("cpu/gc_throttling", _JVM),
    Variant.JVM_G1: ("cpu/gc_throttling", {**_JVM, "collector": "G1"}),
    Variant.NODE: ("cpu/gc_throttling", {"runtime": Runtime.NODE, "objects": 500_000, "replaced": 200, "qps": 200.0}),
    Variant.RUBY: ("cpu/gc_throttling", {"runtime": Runtime.RUBY, "objects": 900_000, "replaced": 1_000, "qps": 200.0}),
    # The Go fault under a limit that its GC peaks stay below, and without one.
    Variant.HEALTHY: ("none", {**_GO, "quota_us": 400_000}),
    Variant.NO_LIMIT: ("none", {**_GO, "quota_us": -1}),
    # Twice the heap of the throttled JVM: a fast machine collects half of it within 20 ms.
    Variant.GC_PAUSE: (
        "runtime/gc_pause",
        {**_JVM, "quota_us": -1, "objects": 1_800_000, "replaced": 800, "heap_mib": 840},
    ),
    Variant.OVERLOAD: ("cpu/limit_too_low", {**_SMALL, "quota_us": None, "hashed_kib": 1_000}),
    Variant.OWN_CODE: ("none", {**_SMALL, "slow_every": 50, "slow_ms": 60}),
    Variant.START_UP: ("none", {**_JVM, **_SMALL, "settle_s": 1.0}),
}


def parameters_of(variant: Variant, given: dict[str, Any]) -> Parameters:
    """The variant's parameters, overridden by those given."""
    return Parameters(**{**_VARIANTS[variant][1], **given})


def expected_cause(variant: Variant) -> str:
    """The actual cause, or "none"."""
    return _VARIANTS[variant][0]
