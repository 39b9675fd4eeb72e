"""Parameters of the accept-queue lab and what each variant sets; command-line values override the variant's."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Variant(StrEnum):
    FAULT = "fault"
    SLOW_ACCEPT = "slow-accept"
    BACKLOG = "backlog"
    HEALTHY = "healthy"
    CONNECT_CHURN = "connect-churn"
    FAR = "far"


class Parameters(BaseModel):
    """One run: `qps` requests/s evenly spaced, plus `burst` at once every `every_ms`."""

    model_config = ConfigDict(extra="forbid")

    backlog: int = Field(16, ge=1, le=4096, description="connections that may wait to be accepted")
    accept_us: int = Field(250, ge=0, le=1_000_000, description="time the service takes to accept each connection (µs)")
    qps: float = Field(50, gt=0, le=5_000, description="requests per second outside bursts")
    burst: int = Field(80, ge=0, le=2_000, description="requests in a burst")
    every_ms: float = Field(2_000, ge=100, le=60_000, description="interval between bursts (ms)")
    keep: bool = Field(False, description="clients keep their connections; otherwise each request opens a new one")
    delay_ms: float = Field(0, ge=0, le=500, description="one-way packet delay (ms)")
    seconds: float = Field(30, ge=5, le=3_600, description="length of the measured window")
    calm_seconds: float = Field(4, ge=0, le=600, description="load before it")


_FAR: dict[str, Any] = {"backlog": 1024, "burst": 0, "delay_ms": 15.0, "accept_us": 0}
_VARIANTS: dict[Variant, tuple[str, dict[str, Any]]] = {
    Variant.FAULT: ("net/accept_queue", {}),
    # So much time per connection that it can never keep up.
    Variant.SLOW_ACCEPT: ("net/accept_queue", {"accept_us": 12_000, "qps": 120.0, "burst": 0}),
    Variant.BACKLOG: ("none", {"backlog": 1024, "accept_us": 50}),
    # The same bursts over connections that already exist.
    Variant.HEALTHY: ("none", {"keep": True}),
    Variant.CONNECT_CHURN: ("net/connect_churn", _FAR),
    # At the same distance, but clients keep their connections.
    Variant.FAR: ("none", {**_FAR, "keep": True}),
}


def parameters_of(variant: Variant, given: dict[str, Any]) -> Parameters:
    """The variant's parameters, overridden by those given."""
    return Parameters(**{**_VARIANTS[variant][1], **given})


def expected_cause(variant: Variant) -> str:
    """The actual cause, or "none"."""
    return _VARIANTS[variant][0]
