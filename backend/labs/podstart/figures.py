"""The figures that the lab measures itself and the same ones queried from the product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, ConfigDict

from labs.podstart.variants import OBJECTIVE_S


@dataclass(frozen=True, slots=True)
class Loaded:
    """One program by the loader's own clock; `verified`: instructions that the verifier processed."""

    name: str
    start_us: int
    took_us: int
    verified: int


@dataclass(frozen=True, slots=True)
class Started:
    """One pod: how long its start took, and its phases (s). `start_s` excludes the image, as the objective does."""

    at_us: int
    start_s: float
    total_s: float
    image_s: float
    sandbox_s: float
    programs: tuple[Loaded, ...]

    @property
    def verifier_s(self) -> float:
        return sum(one.took_us for one in self.programs) / 1e6


class PodFigures(BaseModel):
    """Figures of all pods that started; None: not seen, or there was none.

    `start_…_ms` exclude image pulls; `late`: starts of over 5 s. `verifier_ms` and `verified` are per start: time in
    the calls that load its programs, and instructions that the verifier processed.
    """

    model_config = ConfigDict(extra="forbid")

    starts: int | None = None
    late: int | None = None
    start_p50_ms: float | None = None
    start_max_ms: float | None = None
    total_p50_ms: float | None = None
    image_ms: float | None = None
    sandbox_ms: float | None = None
    loads: int | None = None
    verifier_ms: float | None = None
    verified: float | None = None


def measured(pods: Sequence[Started]) -> PodFigures:
    """What the lab saw."""
    starts = np.array([one.start_s for one in pods])
    programs = [program for one in pods for program in one.programs]
    return PodFigures(
        starts=len(pods),
        late=int((starts > OBJECTIVE_S).sum()),
        start_p50_ms=1e3 * float(np.median(starts)),
        start_max_ms=1e3 * float(starts.max()),
        total_p50_ms=1e3 * float(np.median([one.total_s for one in pods])),
        image_ms=1e3 * float(np.mean([one.image_s for one in pods])),
        sandbox_ms=1e3 * float(np.mean([one.sandbox_s for one in pods])),
        loads=len(programs),
        verifier_ms=sum(one.took_us for one in programs) / 1e3 / len(pods),
        verified=sum(one.verified for one in programs) / len(pods),
    )
