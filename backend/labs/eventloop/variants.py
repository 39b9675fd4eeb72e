"""Parameters of the event-loop lab and what each variant sets; command-line values override the variant's.

The fault: one in so many requests makes a report in the only serving thread, and all others wait for it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Variant(StrEnum):
    FAULT_NODE = "fault-node"
    FAULT_PYTHON = "fault-python"
    OFF_LOOP = "off-loop"
    CROWDED = "crowded"
    HEALTHY = "healthy"


class Runtime(StrEnum):
    NODE = "node"
    PYTHON = "python"


class Parameters(BaseModel):
    """One run: load for `calm_seconds`, then for `seconds`, the measured window, in which the neighbor's loops run."""

    model_config = ConfigDict(extra="forbid")

    runtime: Runtime = Field(Runtime.NODE, description="runtime of the service")
    qps: float = Field(100, gt=0, le=20_000, description="requests per second")
    seconds: float = Field(40, ge=5, le=3_600, description="length of the measured window")
    calm_seconds: float = Field(8, ge=0, le=600, description="load before it")
    report_every: int = Field(0, ge=0, description="one in this many requests makes a report; 0: none")
    report_rows: int = Field(70_000, ge=1, le=10_000_000, description="rows of a report: its CPU time")
    off_loop: bool = Field(False, description="reports are made by another thread (Node.js) or process (Python)")
    shares: int = Field(100 * 1024, ge=2, le=262_144, description="CPU weight of the service in cgroup v1 shares")
    loops: int = Field(0, ge=0, le=256, description="busy loops of a neighbor with 1,024 shares")


_FAULT = {"report_every": 250}
_VARIANTS: dict[Variant, tuple[str, dict[str, Any]]] = {
    Variant.FAULT_NODE: ("cpu/event_loop_blocked", _FAULT),
    Variant.FAULT_PYTHON: ("cpu/event_loop_blocked", {**_FAULT, "runtime": Runtime.PYTHON, "report_rows": 28_000}),
    # The report itself takes as long as before, and is still made for one in so many requests.
    Variant.OFF_LOOP: ("none", {**_FAULT, "off_loop": True, "report_every": 1_500}),
    Variant.CROWDED: ("cpu/neighbours", {"shares": 2, "loops": 6}),
    Variant.HEALTHY: ("none", {}),
}


def parameters_of(variant: Variant, given: dict[str, Any]) -> Parameters:
    """The variant's parameters, overridden by those given."""
    return Parameters(**{**_VARIANTS[variant][1], **given})


def expected_cause(variant: Variant) -> str:
    """The actual cause, or "none"."""
    return _VARIANTS[variant][0]
