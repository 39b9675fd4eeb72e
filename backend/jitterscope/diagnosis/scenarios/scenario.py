"""What a `<cause>_scenario.py` exports: `SCENARIOS`, synthetic telemetry with a known cause.

`expected` is the id that must come first, or None if nothing may be found. A near miss looks like the cause beside it
but is produced by the mechanism of a rival: it names that rival.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jitterscope.diagnosis.core.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    expected: str | None
    build: Callable[[], Snapshot]
    hurts: bool = True  # there is harm: an incident, not a risk
    note: str = ""
