"""Why a reading found nothing: what a cause reports instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class WhyNot:
    """A sentence with the numbers that rule it out; or what is `missing` to decide (metrics, events, facts)."""

    reason: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
