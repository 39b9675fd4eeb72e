"""Parameters of the page-cache lab and what each variant sets; command-line values override the variant's.

The fault: a service serves files that together are larger than its memory limit, each equally often. What it reads
evicts what another request will need, so that most requests read from the disk.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Variant(StrEnum):
    FAULT = "fault"
    MORE_MEMORY = "more-memory"
    HEALTHY = "healthy"
    FAST_DISK = "fast-disk"
    CPU_LIMIT = "cpu-limit"


class Parameters(BaseModel):
    """One run. `read_mib_s` caps the disk: a loop device on a fast disk would be too fast."""

    model_config = ConfigDict(extra="forbid")

    memory_mib: int = Field(96, ge=16, le=65_536, description="memory limit of the service in MiB")
    files: int = Field(160, ge=1, le=10_000, description="files that it serves")
    file_kib: int = Field(1_024, ge=4, le=65_536, description="size of each file in KiB")
    read_mib_s: int = Field(12, ge=-1, description="read limit of its disk in MiB/s; -1: none")
    hashed_kib: int = Field(0, ge=0, le=1_000_000, description="KiB that each request hashes: its CPU time")
    quota_us: int | None = Field(
        -1, ge=-1, description="CPU limit per 100 ms (µs); -1: none; unset: six tenths of its need"
    )
    qps: float = Field(16, gt=0, le=20_000, description="requests per second")
    seconds: float = Field(30, ge=5, le=3_600, description="length of the measured window")
    settle_s: float = Field(10, ge=0, le=600, description="load before it")


_VARIANTS: dict[Variant, tuple[str, dict[str, Any]]] = {
    Variant.FAULT: ("memory/page_cache_thrashing", {}),
    # Room for all files.
    Variant.MORE_MEMORY: ("none", {"memory_mib": 256}),
    # Files that fit.
    Variant.HEALTHY: ("none", {"files": 40}),
    # The same files on a disk so fast that no client notices.
    Variant.FAST_DISK: ("none", {"read_mib_s": -1, "files": 640, "file_kib": 256}),
    Variant.CPU_LIMIT: ("cpu/limit_too_low", {"files": 40, "hashed_kib": 4_000, "qps": 50.0, "quota_us": None}),
}


def parameters_of(variant: Variant, given: dict[str, Any]) -> Parameters:
    """The variant's parameters, overridden by those given."""
    return Parameters(**{**_VARIANTS[variant][1], **given})


def expected_cause(variant: Variant) -> str:
    """The actual cause, or "none"."""
    return _VARIANTS[variant][0]
