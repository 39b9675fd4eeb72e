"""What figures mean: a title, a unit, which direction is better, and the threshold of trouble.

Each quantity is declared once, by the area that owns it, or in `core/impact.py` if all areas share it. The impact of a
finding holds values by id; titles, units, and thresholds are never stored with them, nor known anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from jitterscope.diagnosis.core.finding import Impact

Unit = Literal["bytes", "1", "us", "ms", "cpu", "ratio", "1/min", "1/s", "1/h", "ms/min"]
# "none": descriptive, neither good nor bad.
Better = Literal["lower", "higher", "none"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """One figure of a finding's impact, or of what a fix is measured by.

    `threshold`: beyond it the figure is the trouble itself (`hot`); a number in `unit`, or the id of another quantity
    of the same impact. `phrase` names what is counted inside a sentence ("answers over 20 ms"); `short` is the word
    beside the value in a list ("slow"), for quantities shown in lists. `detail` adds to the value from others of the
    impact, which are then not shown by themselves (`aside`). `per_subject`: shown for each subject that an incident
    affects.

    `proves`: of two windows of one incident, the one with more "harm" shows it better; if that is equal, the one with
    the larger "sample".
    """

    id: str
    title: str
    unit: Unit
    better: Better = field(default="lower", kw_only=True)
    threshold: float | str | None = field(default=None, kw_only=True)
    phrase: str = field(default="", kw_only=True)
    short: str = field(default="", kw_only=True)
    detail: Callable[[Impact], str | None] | None = field(default=None, kw_only=True)
    aside: bool = field(default=False, kw_only=True)
    per_subject: bool = field(default=False, kw_only=True)
    proves: Literal["harm", "sample"] | None = field(default=None, kw_only=True)

    def of(self, impact: Impact) -> float | None:
        """Its value; None if unknown."""
        return impact.get(self.id)

    def limit(self, impact: Impact) -> float | None:
        """The threshold as a number, if known."""
        return impact.get(self.threshold) if isinstance(self.threshold, str) else self.threshold

    def hot(self, impact: Impact) -> bool:
        """Whether the value is beyond the threshold."""
        value, limit = self.of(impact), self.limit(impact)
        if value is None or limit is None:
            return False
        return value < limit if self.better == "higher" else value > limit


def impact_of(values: Mapping[Quantity, float | None]) -> Impact:
    """The impact of a finding, without unknown values."""
    return {one.id: value for one, value in values.items() if value is not None}
