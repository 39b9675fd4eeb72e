"""Parameters of the negative-dentries lab and what each variant sets; command-line values override the variant's.

The fault: a short-lived program starts again and again and looks up thousands of names that do not exist, and the
kernel keeps a negative dentry for each. Freeing them keeps the kernel busy in proportion to their number.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Variant(StrEnum):
    NSS = "nss"
    STORM = "storm"
    DROP = "drop"
    UNMOUNT = "unmount"
    FILES = "files"


class Parameters(BaseModel):
    """One run: quiet for `calm_seconds`, then starts for `seconds` or until `dentries` is reached, then quiet again."""

    model_config = ConfigDict(extra="forbid")

    starts_per_s: float = Field(2, gt=0, le=100, description="starts of the program per second")
    lookups: int = Field(10_000, ge=1, le=1_000_000, description="names that each start of the stand-in looks up")
    dentries: int = Field(400_000, ge=1_000, le=50_000_000, description="number of names at which the starts end")
    seconds: float = Field(20, ge=5, le=3_600, description="longest time")
    calm_seconds: float = Field(10, ge=0, le=600, description="idle time before")
    settle_seconds: float = Field(15, ge=0, le=600, description="idle time after")
    names: Literal["nss", "session"] = Field("nss", description="pattern of the names of the stand-in")
    use_cache: str = Field("auto", pattern=r"^[A-Za-z0-9]*$", description="NSS_SDB_USE_CACHE; empty: not set")


_VARIANTS: dict[Variant, dict[str, Any]] = {
    # The library decides how many names it looks up: 10,000 or 33 ms worth, twice.
    Variant.NSS: {"dentries": 50_000_000},
    Variant.STORM: {},
    Variant.DROP: {"starts_per_s": 10.0, "dentries": 1_000_000, "names": "session"},
    Variant.UNMOUNT: {"starts_per_s": 10.0, "dentries": 1_000_000, "names": "session"},
    # As many names as the storm makes, but of files that exist.
    Variant.FILES: {"dentries": 200_000},
}


def parameters_of(variant: Variant, given: dict[str, Any]) -> Parameters:
    """The variant's parameters, overridden by those given."""
    return Parameters(**{**_VARIANTS[variant], **given})


def expected_cause(variant: Variant, parameters: Parameters) -> str:
    """The actual cause, or "none"."""
    if variant is Variant.NSS:
        return "none" if parameters.use_cache in ("", "yes", "no") else "kernel/nss_stat_storm"
    if variant in (Variant.DROP, Variant.UNMOUNT):
        return "kernel/dentry_reclaim_contention"
    if variant is Variant.FILES:
        return "none"
    return "kernel/nss_stat_storm" if parameters.names == "nss" else "kernel/negative_dentry_growth"
