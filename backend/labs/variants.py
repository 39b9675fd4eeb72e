"""Parameters of the coredns-gc lab and what each variant sets; command-line values override the variant's.

The fault: CoreDNS keeps a live heap of 145 MB (500,000 names), so one GC cycle needs more CPU than a quota of 50 ms per
100 ms allows, although the mean demand is far below it. Variants change one thing. Look-alikes make the same symptom
(slow answers in throttled ticks) from another cause, or no symptom at all.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from labs.errors import LabError


class Variant(StrEnum):
    FAULT = "fault"
    LIMIT = "limit"
    GOGC = "gogc"
    GOMAXPROCS = "gomaxprocs"
    BURST = "burst"
    REPLICAS = "replicas"
    OVERLOAD = "overload"
    REQUEST_BURST = "request-burst"
    PERIODIC_BURST = "periodic-burst"
    GC_SPIRAL = "gc-spiral"
    HEALTHY = "healthy"


class Parameters(BaseModel):
    """One run. None: chosen from what the server needs, measured without a limit before the run."""

    model_config = ConfigDict(extra="forbid")

    quota_us: int | None = Field(50_000, ge=-1, description="CPU time per period (µs); -1: no limit")
    period_us: int = Field(100_000, ge=1_000, le=1_000_000, description="length of a CFS period (µs)")
    burst_us: int = Field(0, ge=0, description="CFS burst (µs), at most the quota")
    gomaxprocs: int = Field(2, ge=1, le=256, description="GOMAXPROCS of CoreDNS")
    gogc: str = Field("100", pattern=r"^(off|\d{1,5})$", description="GOGC of CoreDNS: a percentage or off")
    gomemlimit: str | None = Field(None, pattern=r"^\d+(B|KiB|MiB|GiB)?$", description="GOMEMLIMIT of CoreDNS")
    records: int = Field(500_000, ge=16, le=5_000_000, description="names in the hosts file: the live heap")
    rewrites: int = Field(0, ge=0, le=10_000, description="rewrite rules tried for each query: its CPU")
    qps: float | None = Field(1_000, gt=0, le=20_000, description="queries per second")
    seconds: float = Field(60, ge=5, le=3_600, description="length of the measured window")
    burst_qps: float | None = Field(0, ge=0, le=12_000, description="queries per second within a request burst")
    burst_ms: float = Field(0, ge=0, description="length of a request burst")
    every_ms: float = Field(0, ge=0, description="interval between request bursts")
    burn_ms: float | None = Field(0, ge=0, description="CPU time per burst of the other process in the cgroup")
    burn_every_ms: float = Field(3_000, ge=100, description="interval between these bursts")


# A heap of a few MB, so that a GC cycle takes a few ms of CPU, and queries that cost several times the usual CPU, so
# that the clients can exhaust any limit of a small machine without needing as much CPU themselves.
_COSTLY_QUERIES = {"records": 1_000, "rewrites": 1_500}

_VARIANTS: dict[Variant, dict[str, Any]] = {
    Variant.FAULT: {},
    Variant.LIMIT: {"quota_us": -1},
    # The heap may grow to 3 GiB before a cycle starts: at 10 to 26 MB/s none falls into a minute.
    Variant.GOGC: {"gogc": "off", "gomemlimit": "3GiB"},
    Variant.GOMAXPROCS: {"gomaxprocs": 1},
    Variant.BURST: {"burst_us": None},
    # What one of two replicas gets of the load.
    Variant.REPLICAS: {"qps": 500},
    # 60 % of what the load needs, all the time.
    Variant.OVERLOAD: {**_COSTLY_QUERIES, "quota_us": None, "qps": 1_000},
    # Ten times the usual rate for 200 ms every 3 s, which needs twice the limit; the mean needs a third of it.
    Variant.REQUEST_BURST: {
        **_COSTLY_QUERIES,
        "quota_us": None,
        "qps": 150,
        "burst_qps": 1_500,
        "burst_ms": 200,
        "every_ms": 3_000,
    },
    # Another process in the same cgroup needs three periods' quota every 3 s.
    Variant.PERIODIC_BURST: {"records": 1_000, "burn_ms": None},
    # 60 % of the live heap: GC never ends.
    Variant.GC_SPIRAL: {"gomemlimit": None},
    # The fault's heap and load under a limit that its GC peaks stay below.
    Variant.HEALTHY: {"quota_us": 300_000},
}

LIVE_BYTES_PER_RECORD = 310
MAX_QPS = 10_000


def parameters_of(variant: Variant, given: dict[str, Any]) -> Parameters:
    """The variant's parameters, overridden by those given. Raises LabError if they contradict the variant."""
    chosen: dict[str, Any] = {**_VARIANTS[variant], **given}
    if "quota_us" in given and "qps" not in given:
        for name in ("qps", "burst_qps"):
            if _VARIANTS[variant].get("quota_us", 0) is None and _VARIANTS[variant].get(name):
                chosen[name] = None  # the load follows the limit
    if variant is Variant.BURST and chosen.get("burst_us") is None:
        chosen["burst_us"] = max(0, int(chosen.get("quota_us", 50_000)))
    if variant is Variant.GC_SPIRAL and chosen.get("gomemlimit") is None:
        live = LIVE_BYTES_PER_RECORD * int(chosen.get("records", 500_000))
        chosen["gomemlimit"] = f"{max(4, round(0.6 * live / (1 << 20)))}MiB"
    parameters = Parameters(**chosen)
    cpus = os.cpu_count() or 1
    limit_cpus = (parameters.quota_us or 0) / parameters.period_us
    needs_limit = variant in (Variant.OVERLOAD, Variant.REQUEST_BURST, Variant.PERIODIC_BURST)
    if needs_limit and (parameters.quota_us == -1 or limit_cpus >= 0.75 * cpus):
        raise LabError(
            f"Variant {variant} exhausts its limit, and this machine has {cpus} CPUs for server, clients and product: "
            f"choose --quota-us between 1000 and {int(0.75 * cpus * parameters.period_us)}."
        )
    if variant is Variant.PERIODIC_BURST and parameters.burn_ms is None:
        parameters = parameters.model_copy(update={"burn_ms": 3 * (parameters.quota_us or 0) / 1e3})
    return parameters


def settle(variant: Variant, parameters: Parameters, cpu_s_per_query: float) -> Parameters:
    """Choose what was left open from the CPU time per query without a limit."""
    factor, peak = (0.6, "qps") if variant is Variant.OVERLOAD else (0.5, "burst_qps")
    if variant not in (Variant.OVERLOAD, Variant.REQUEST_BURST):
        return parameters
    changes: dict[str, Any] = {}
    if parameters.quota_us is None:
        demand = (getattr(parameters, peak) or 0) * cpu_s_per_query
        changes["quota_us"] = max(1_000, round(factor * demand * parameters.period_us / 1_000) * 1_000)
    else:
        demand = parameters.quota_us / parameters.period_us / factor
        rate = min(demand / cpu_s_per_query, MAX_QPS)
        if getattr(parameters, peak) is None:
            changes[peak] = round(rate)
        if parameters.qps is None and variant is Variant.REQUEST_BURST:
            changes["qps"] = max(1, round(0.1 * rate))
    return parameters.model_copy(update=changes)
