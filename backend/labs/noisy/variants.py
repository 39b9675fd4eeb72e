"""Parameters of the noisy-neighbour lab and what each variant sets; command-line values override the variant's."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from labs.noisy.loops import NEIGHBOUR_SHARES


class Variant(StrEnum):
    FAULT = "fault"
    HTTP = "http"
    WEIGHTS = "weights"
    LIMIT_NEIGHBOUR = "limit-neighbour"
    OWN_LIMIT = "own-limit"
    HEALTHY = "healthy"


class Parameters(BaseModel):
    """One run: load for `calm_seconds`, then also the neighbor's busy loops for `seconds`, the measured window."""

    model_config = ConfigDict(extra="forbid")

    http: bool = Field(False, description="the server is a Go HTTP service; otherwise an unbound")
    qps: float = Field(3_000, gt=0, le=20_000, description="queries or requests per second")
    hashed_kib: int = Field(0, ge=0, le=1_000_000, description="KiB that each HTTP request hashes: its CPU time")
    seconds: float = Field(30, ge=5, le=3_600, description="length of the measured window")
    calm_seconds: float = Field(6, ge=0, le=600, description="load before it, without the neighbor's loops")
    shares: int = Field(2, ge=2, le=262_144, description="CPU weight of the server in cgroup v1 shares")
    loops: int = Field(6, ge=0, le=256, description="busy loops of the neighbor")
    neighbour_shares: int = Field(NEIGHBOUR_SHARES, ge=2, le=262_144, description="CPU weight of the neighbor")
    neighbour_quota_us: int = Field(-1, ge=-1, description="CPU limit of the neighbor per period (µs); -1: none")
    neighbour_period_us: int = Field(100_000, ge=1_000, le=1_000_000, description="length of its CFS period (µs)")
    quota_us: int | None = Field(
        -1, ge=-1, description="CPU limit of the server per 100 ms (µs); -1: none; unset: six tenths of its need"
    )


_VARIANTS: dict[Variant, tuple[str, dict[str, Any]]] = {
    Variant.FAULT: ("cpu/neighbours", {}),
    Variant.HTTP: ("cpu/neighbours", {"http": True, "qps": 400.0, "hashed_kib": 200}),
    Variant.WEIGHTS: ("none", {"shares": 10_240}),
    # The server weighs as much as the neighbor, and more than the product and whoever starts the lab, each process of
    # which weighs 1,024: together they delayed the answers of one that did not for 28 ms. What is left of the neighbor
    # must delay none for 20 ms, which half a CPU in bursts of 5 ms does now and then, and periods of 100 ms always do.
    Variant.LIMIT_NEIGHBOUR: (
        "none",
        {"shares": 8_192, "neighbour_shares": 8_192, "neighbour_quota_us": 2_000, "neighbour_period_us": 10_000},
    ),
    Variant.OWN_LIMIT: ("cpu/limit_too_low", {"shares": 10_240, "quota_us": None}),
    # With 2 shares, or on a full node with 1,024, the product and the test would take the CPU from it.
    Variant.HEALTHY: ("none", {"loops": 0, "shares": 10_240}),
}


def parameters_of(variant: Variant, given: dict[str, Any]) -> Parameters:
    """The variant's parameters, overridden by those given."""
    return Parameters(**{**_VARIANTS[variant][1], **given})


def expected_cause(variant: Variant) -> str:
    """The actual cause, or "none"."""
    return _VARIANTS[variant][0]
