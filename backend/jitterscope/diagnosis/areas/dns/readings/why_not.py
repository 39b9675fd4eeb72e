"""Why a reading found nothing: what a cause says in its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class WhyNot:
    """A sentence with the numbers that speak against it; or what is `missing` to say so (metrics, events, facts)."""

    reason: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
