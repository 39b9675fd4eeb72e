"""Parameters of the disk-stall lab and what each variant sets; command-line values override the variant's.

The fault: each request is written to a journal and synced. Every few seconds a checkpoint writes more than the write
limit allows, and requests queue behind it. Look-alikes write as much but wait for something else.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Variant(StrEnum):
    FAULT = "fault"
    STEADY = "steady"
    MORE_IO = "more-io"
    HEALTHY = "healthy"
    CPU_LIMIT = "cpu-limit"
    BACKGROUND = "background"
    OWN_CODE = "own-code"


class Parameters(BaseModel):
    """One run. `quota_us` None: 60 % of what the load needs, measured without a limit before the run."""

    model_config = ConfigDict(extra="forbid")

    write_kib_s: int = Field(1_536, ge=-1, description="write limit of the service in KiB/s; -1: none")
    record_kib: int = Field(8, ge=0, le=4_096, description="KiB that each request writes; 0: none")
    sync: bool = Field(True, description="whether a request waits until its writes are durable (fsync)")
    checkpoint_kib: int = Field(1_536, ge=0, le=262_144, description="KiB each checkpoint writes; 0: none")
    checkpoint_every_ms: int = Field(3_000, ge=50, le=600_000, description="interval between checkpoints")
    hashed_kib: int = Field(0, ge=0, le=1_000_000, description="KiB that each request hashes: its CPU time")
    slow_every: int = Field(0, ge=0, description="one in this many requests waits in the service's own code; 0: none")
    slow_ms: int = Field(0, ge=0, le=10_000, description="how long it waits")
    quota_us: int | None = Field(
        -1, ge=-1, description="CPU limit per 100 ms (µs); -1: none; unset: six tenths of its need"
    )
    volume_mib: int = Field(512, ge=192, le=65_536, description="size of the file system")
    qps: float = Field(50, gt=0, le=20_000, description="requests per second")
    seconds: float = Field(30, ge=5, le=3_600, description="length of the measured window")
    settle_s: float = Field(6, ge=0, le=600, description="load before it")


_UNSYNCED = {"record_kib": 0}
_VARIANTS: dict[Variant, tuple[str, dict[str, Any]]] = {
    Variant.FAULT: ("io/disk_stall", {}),
    # No checkpoint: now and then the requests alone write more than the limit allows.
    Variant.STEADY: ("io/disk_stall", {"checkpoint_kib": 0, "write_kib_s": 448, "record_kib": 16, "qps": 30.0}),
    Variant.MORE_IO: ("none", {"write_kib_s": 65_536}),
    Variant.HEALTHY: ("none", {"write_kib_s": -1}),
    Variant.CPU_LIMIT: (
        "cpu/limit_too_low", {"write_kib_s": -1, "hashed_kib": 4_000, "quota_us": None, "checkpoint_kib": 0},
    ),
    # The same writes at the same limit, by a separate thread: no request waits for them.
    Variant.BACKGROUND: ("none", {**_UNSYNCED, "checkpoint_kib": 3_072}),
    Variant.OWN_CODE: ("none", {**_UNSYNCED, "checkpoint_kib": 3_072, "slow_every": 50, "slow_ms": 60}),
}  # fmt: skip


def parameters_of(variant: Variant, given: dict[str, Any]) -> Parameters:
    """The variant's parameters, overridden by those given."""
    return Parameters(**{**_VARIANTS[variant][1], **given})


def expected_cause(variant: Variant) -> str:
    """The actual cause, or "none"."""
    return _VARIANTS[variant][0]
