"""Parameters of the slow-dependency lab and what each variant sets; command-line values override the variant's.

The fault: a transaction locks a table now and then, as a migration does, and all readers of the table wait. Variants
differ in what is slow. Look-alikes are slow by themselves, or not at all.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from labs.limited import Limit


class Variant(StrEnum):
    FAULT = "fault"
    HEAVY_QUERY = "heavy-query"
    HTTP = "http"
    THROTTLED = "throttled"
    OWN_CODE = "own-code"
    HEALTHY = "healthy"


class Parameters(BaseModel):
    """One run: load for `calm_seconds`, then for `seconds`, the measured window, which also contains the trouble."""

    model_config = ConfigDict(extra="forbid")

    database: bool = Field(True, description="the service calls a PostgreSQL; otherwise another HTTP service")
    qps: float = Field(200, gt=0, le=20_000, description="requests per second")
    seconds: float = Field(40, ge=5, le=3_600, description="length of the measured window")
    calm_seconds: float = Field(8, ge=0, le=600, description="load before it, without the lock")
    connections: int = Field(32, ge=1, le=90, description="maximum connections from the service to its dependency")
    lock_ms: int = Field(0, ge=0, le=30_000, description="how long the table is locked; 0: never")
    lock_every_ms: int = Field(4_000, ge=100, le=600_000, description="interval between locks")
    heavy_every: int = Field(0, ge=0, description="one in this many requests runs a heavy query; 0: none")
    heavy_rows: int = Field(1_500_000, ge=1, le=1_000_000_000, description="rows the query counts")
    objects: int = Field(0, ge=0, le=20_000_000, description="live objects of the dependency, if it is an HTTP service")
    hashed_kib: int = Field(0, ge=0, le=1_000_000, description="KiB the dependency hashes for each request")
    answer_bytes: int = Field(2_000, ge=1, le=10_000_000, description="size of its answers, which it allocates")
    slow_every: int = Field(0, ge=0, description="one in this many requests waits in the dependency; 0: none")
    slow_ms: int = Field(0, ge=0, le=10_000, description="how long it waits, in ms")
    quota_us: int = Field(-1, ge=-1, description="CPU limit of the dependency per 100 ms (µs); -1: none")
    own_slow_every: int = Field(
        0, ge=0, description="one in this many requests waits in the service's own code; 0: none"
    )
    own_slow_ms: int = Field(0, ge=0, le=10_000, description="how long it waits, in ms")

    @model_validator(mode="after")
    def _fits(self) -> Parameters:
        if self.lock_ms >= self.lock_every_ms:
            raise ValueError("--lock-ms is not less than --lock-every-ms")
        return self

    @property
    def limit(self) -> Limit:
        """The CPU limit of the dependency."""
        return Limit(self.quota_us, 100_000, 0)


_VARIANTS: dict[Variant, tuple[str, dict[str, Any]]] = {
    Variant.FAULT: ("app/lock_or_dependency", {"lock_ms": 400}),
    Variant.HEAVY_QUERY: ("app/lock_or_dependency", {"heavy_every": 60}),
    Variant.HTTP: ("app/lock_or_dependency", {"database": False, "slow_every": 40, "slow_ms": 150}),
    # The Go fault of service-gc, one server further away from the clients.
    Variant.THROTTLED: (
        "cpu/gc_throttling",
        {
            "database": False,
            "qps": 300.0,
            "objects": 800_000,
            "hashed_kib": 300,
            "quota_us": 50_000,
            "answer_bytes": 100_000,
        },
    ),
    Variant.OWN_CODE: ("none", {"own_slow_every": 50, "own_slow_ms": 60}),
    Variant.HEALTHY: ("none", {}),
}


def parameters_of(variant: Variant, given: dict[str, Any]) -> Parameters:
    """The variant's parameters, overridden by those given."""
    return Parameters(**{**_VARIANTS[variant][1], **given})


def expected_cause(variant: Variant) -> str:
    """The actual cause, or "none"."""
    return _VARIANTS[variant][0]
