"""Parameters of the packet-loss lab and what each variant sets. A command-line value wins over a variant's."""

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
    """One run: requests to a service, whose packets are lost on the way to its clients."""

    model_config = ConfigDict(extra="forbid")

    loss_percent: float = Field(2, ge=0, le=50, description="packets to clients that are lost, in percent")
    requests_too: bool = Field(False, description="as many of the packets to the service are lost, too")
    other: bool = Field(False, description="only packets of another service at the same address are lost")
    keep: bool = Field(True, description="clients keep their connections; otherwise each request has one of its own")
    answer_bytes: int = Field(1_000, ge=1, le=1_000_000, description="size of an answer")
    slow_every: int = Field(0, ge=0, description="of so many requests one waits in the service's own code; 0: none")
    slow_ms: int = Field(200, ge=0, le=10_000, description="how long it waits")
    qps: float = Field(200, gt=0, le=5_000, description="requests per second")
    seconds: float = Field(30, ge=5, le=3_600, description="length of the measured window")
    calm_seconds: float = Field(4, ge=0, le=600, description="load before it")


_VARIANTS: dict[Variant, tuple[str, dict[str, Any]]] = {
    Variant.FAULT: ("net/retransmission", {}),
    Variant.NEW_CONNECTIONS: ("net/retransmission", {"keep": False}),
    Variant.HEALTHY: ("none", {"loss_percent": 0.0}),
    # The same 200 ms, of its own.
    Variant.OWN_CODE: ("none", {"loss_percent": 0.0, "slow_every": 50}),
    Variant.OTHER_SERVICE: ("none", {"other": True}),
}


def parameters_of(variant: Variant, given: dict[str, Any]) -> Parameters:
    """A variant's parameters with the given ones in their place."""
    return Parameters(**{**_VARIANTS[variant][1], **given})


def expected_cause(variant: Variant) -> str:
    """The cause that is really there; "none" where none is."""
    return _VARIANTS[variant][0]
