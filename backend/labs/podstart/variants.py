"""Parameters of the bpf-startup lab and what each variant sets; command-line values override the variant's.

The fault: for each pod an agent loads programs whose branches keep the verifier busy, and the pod waits for it. The
rest of a start is chosen so that the fault misses the objective of 5 s on any machine and the fix meets it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from labs.errors import LabError


class Variant(StrEnum):
    FAULT = "fault"
    PRUNED = "pruned"
    SLOW_IMAGE = "slow-image"
    SLOW_START = "slow-start"


class Parameters(BaseModel):
    """One run: `pods` start one after another. None: chosen from what the verifier takes on this machine."""

    model_config = ConfigDict(extra="forbid")

    pods: int = Field(6, ge=1, le=1_000, description="pods that start")
    sections: int = Field(8, ge=0, le=64, description="programs in the agent's object file")
    unused: int = Field(0, ge=0, le=64, description="of these, programs that nothing calls and that are left out")
    verified: int = Field(
        450_000, ge=1_000, le=900_000, description="instructions that the verifier processes per program"
    )
    branches: int = Field(8, ge=1, le=14, description="consecutive branches that the verifier must tell apart")
    wait_s: float | None = Field(None, ge=0, le=600, description="time of scheduler, API server and volumes")
    image_mib: float = Field(16, ge=0.1, le=10_000, description="size of the image")
    image_s: float = Field(0.5, ge=0, le=600, description="pull time of the image")
    gap_s: float = Field(1.0, ge=0, le=600, description="pause between pod starts")


OBJECTIVE_S, _LATE_S = 5.0, 1.2
# A fraction of what the verifier takes: without five of eight programs, or without any, starts must be in time again.
_LATE_SHARE = 0.4
_SMALL = {"verified": 10_000}
_VARIANTS: dict[Variant, dict[str, Any]] = {
    Variant.FAULT: {},
    Variant.PRUNED: {},
    # The objective excludes image pulls.
    Variant.SLOW_IMAGE: {**_SMALL, "image_s": 8.0, "wait_s": 1.5},
    Variant.SLOW_START: {**_SMALL, "wait_s": OBJECTIVE_S + _LATE_S},
}


def parameters_of(variant: Variant, given: dict[str, Any]) -> Parameters:
    """The variant's parameters, overridden by those given. Raises LabError if they contradict each other."""
    chosen = {**_VARIANTS[variant], **given}
    if variant is Variant.PRUNED:
        # Five of eight, as in the change that this imitates.
        chosen.setdefault("unused", round(chosen.get("sections", 8) * 5 / 8))
    parameters = Parameters(**chosen)
    if parameters.unused > parameters.sections:
        raise LabError(f"--unused {parameters.unused} is more than --sections {parameters.sections}.")
    return parameters


def settle(parameters: Parameters, verifier_s: float, other_s: float) -> Parameters:
    """Choose what was left open: `verifier_s` is how long loading all programs takes here, `other_s` the rest."""
    if parameters.wait_s is not None:
        return parameters
    late_s = min(_LATE_S, _LATE_SHARE * verifier_s)
    wait_s = max(0.3, OBJECTIVE_S + late_s - verifier_s - other_s)
    return parameters.model_copy(update={"wait_s": round(wait_s, 2)})


def expected_cause(late: int, verifier_share: float) -> str:
    """The actual cause, by measurement; "none" if the objective is met."""
    if late < 1:
        return "none"
    return "pods/bpf_verification" if verifier_share >= 0.1 else "pods/pod_slo"
