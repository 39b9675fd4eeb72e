"""Parameters of the packet-loss lab and what each variant sets; command-line values override the variant's."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Variant(StrEnum):
    FAULT = "fault"
    NEW_CONNECTIONS = "new-connections"
    HEALTHY = "healthy"
    OWN_CODE = "own-code"
    OTHER_SERVICE = "other-service"


class Parameters(BaseModel):
    """One run: requests to a service whose packets to its clients are dropped."""

    model_config = ConfigDict(extra="forbid")

    loss_percent: float = Field(2, ge=0, le=50, description="packets to clients that are lost, in percent")
    requests_too: bool = Field(False, description="packets to the service are lost at the same rate")
    other: bool = Field(False, description="only packets of another service at the same address are lost")
    keep: bool = Field(True, description="clients keep their connections; otherwise each request opens a new one")
    answer_bytes: int = Field(1_000, ge=1, le=1_000_000, description="size of an answer")
    slow_every: int = Field(0, ge=0, description="one in this many requests waits in the service's own code; 0: none")
    slow_ms: int = Field(200, ge=0, le=10_000, description="how long it waits")
    qps: float = Field(200, gt=0, le=5_000, description="requests per second")
    seconds: float = Field(30, ge=5, le=3_600, description="length of the measured window")
    calm_seconds: float = Field(4, ge=0, le=600, description="load before it")


_VARIANTS: dict[Variant, tuple[str, dict[str, Any]]] = {
    Variant.FAULT: ("net/retransmission", {}),
    Variant.NEW_CONNECTIONS: ("net/retransmission", {"keep": False}),
    Variant.HEALTHY: ("none", {"loss_percent": 0.0}),
    # The same 200 ms, but in its own code.
    Variant.OWN_CODE: ("none", {"loss_percent": 0.0, "slow_every": 50}),
    Variant.OTHER_SERVICE: ("none", {"other": True}),
}


def parameters_of(variant: Variant, given: dict[str, Any]) -> Parameters:
    """The variant's parameters, overridden by those given."""
    return Parameters(**{**_VARIANTS[variant][1], **given})


def expected_cause(variant: Variant) -> str:
    """The actual cause, or "none"."""
    return _VARIANTS[variant][0]
