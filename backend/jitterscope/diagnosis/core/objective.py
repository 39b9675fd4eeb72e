"""A latency objective in its written form: `p99<50ms` means that 99 % of the answers take less than 50 ms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
# From 1 ms to 999 s.
GRAMMAR = (
    r"^ {0,4}(p50|p90|p95|p99|p99\.9) {0,4}< {0,4}"
    r"(?:([1-9][0-9]{0,5}(?:\.[0-9]{1,3})?) {0,4}ms"
    r"|([1-9][0-9]{0,2}(?:\.[0-9]{1,3})?|0\.[0-9]{0,2}[1-9]) {0,4}s) {0,4}$"
)
_GRAMMAR = re.compile(GRAMMAR)
# How many characters of an invalid text are shown.
_SHOWN = 64

# Where it was set: in Jitterscope for one server or for a whole workload, or in the annotation of its pod.
Origin = Literal["server", "workload", "annotation"]


class BadObjective(ValueError):
    """The text is not an objective; the message says why and how to write one."""


@dataclass(frozen=True, slots=True)
class Objective:
    """The `quantile` (0..1) of the answers takes less than `limit_us`."""

    quantile: float
    limit_us: int
    origin: Origin = "workload"

    @property
    def allowed_ratio(self) -> float:
        """The share of the answers that may take longer."""
        return 1.0 - self.quantile

    @property
    def limit(self) -> str:
        return limit_words(self.limit_us)

    def __str__(self) -> str:
        name = next(name for name, quantile in QUANTILES.items() if quantile == self.quantile)
        return f"{name}<{self.limit.replace(' ', '')}"


def limit_words(limit_us: float) -> str:
    """ "50 ms", "1.5 s"; with at most three decimals, like the grammar."""
    in_ms = limit_us < 1_000_000 or limit_us % 1_000 != 0
    return f"{limit_us / (1_000 if in_ms else 1_000_000):.10g} {'ms' if in_ms else 's'}"


def parse(text: str, origin: Origin = "workload") -> Objective:
    """Raises BadObjective."""
    found = _GRAMMAR.match(text)
    if found is None or text.endswith("\n"):
        shown = text[:_SHOWN] + ("…" if len(text) > _SHOWN else "")
        raise BadObjective(
            f'"{shown}" is not an objective. Write p50, p90, p95, p99, or p99.9, then < and a time from 1 ms to 999 s, '
            "such as p99<50ms."
        )
    limit_us = round(float(found[2]) * 1_000) if found[2] else round(float(found[3]) * 1_000_000)
    return Objective(QUANTILES[found[1]], limit_us, origin)
