"""Parameters of the mixed-load lab."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Parameters(BaseModel):
    """One run. `seed` decides rates, their changes, and which containers have a CPU limit."""

    model_config = ConfigDict(extra="forbid")

    minutes: float = Field(5, ge=0.5, le=240, description="length of the load (min)")
    seed: int = Field(1, ge=0, description="seed of everything random")
    rate: float | None = Field(
        None,
        gt=0,
        le=20,
        description="factor applied to all rates; none: 1, or less on a slow machine, most of which stays unused",
    )
