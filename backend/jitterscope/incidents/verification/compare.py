"""Two windows side by side, by every measure that any area declares, with the tests of a verification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.area import Load, Measure
from jitterscope.diagnosis.core.registry import all_areas
from jitterscope.diagnosis.verification.blocks import Blocks, blocks
from jitterscope.diagnosis.verification.figures import Figure, figures
from jitterscope.incidents.verification import window
from jitterscope.kit.allowance import borrowed

# A difference counts if its p-value stays below this after correction for all tests.
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Side:
    """A subject (cgroup or node) in a window, µs."""

    subject_id: int
    from_us: int
    to_us: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure of both sides: `before` is the other side, `after` this one.

    `adjusted_p` is corrected for the number of tests (Holm); `differs`: it is below 0.05, and the difference is large
    enough to notice.
    """

    figure: Figure
    adjusted_p: float | None
    differs: bool


@dataclass(frozen=True, slots=True)
class LoadOfBoth:
    """The load of both sides, as means."""

    load: Load
    this: float
    other: float


@dataclass(frozen=True, slots=True)
class Compared:
    """The result of a comparison. `blocks` of this and the other side; 0 where nothing was recorded."""

    differences: list[Difference]
    loads: list[LoadOfBoth]
    blocks: tuple[int, int]


def compare(session: Session, this: Side, other: Side) -> Compared:
    """What differs, and by how much; without data on one side there are no differences."""
    measures, loads = _declared()
    needs = {name for one in measures for name in one.needs} | {name for one in loads for name in one.needs}
    new = _blocks(session, this, needs, measures, loads)
    old = _blocks(session, other, needs, measures, loads)
    if new is None or old is None or not len(new) or not len(old):
        return Compared([], [], (0 if new is None else len(new), 0 if old is None else len(old)))
    found = figures(old, new, measures, (), {})
    # If nothing happened on either side, there is nothing to compare.
    told = [one for one in found if one.before or one.after]
    return Compared(_tested(told), _loads(new, old, loads), (len(new), len(old)))


def _declared() -> tuple[list[Measure], list[Load]]:
    """Each measure and load once, whichever areas have it; the first area that declares a measure defines it."""
    areas = all_areas().values()
    measures = {one.id: one for area in areas for one in reversed(area.measures)}
    loads = {one.id: one for area in areas for one in area.load if not one.peak}
    return list(measures.values()), list(loads.values())


def _blocks(
    session: Session, side: Side, needs: set[str], measures: Sequence[Measure], loads: Sequence[Load]
) -> Blocks | None:
    with borrowed():
        snapshot = window.read(session, side.subject_id, side.from_us, side.to_us, needs)
        return None if snapshot is None else blocks(snapshot, measures, loads)


def _tested(found: Sequence[Figure]) -> list[Difference]:
    """The figures, the most certain differences first; then those without a test."""
    tested = sorted((one for one in found if one.p_value is not None), key=lambda one: one.p_value or 0.0)
    result: list[Difference] = []
    least = 0.0
    for rank, one in enumerate(tested):
        assert one.p_value is not None
        least = min(1.0, max(least, one.p_value * (len(tested) - rank)))
        result.append(Difference(one, least, least < ALPHA and one.noticed))
    result.sort(key=lambda one: not one.differs)
    return result + [Difference(one, None, False) for one in found if one.p_value is None]


def _loads(new: Blocks, old: Blocks, loads: Sequence[Load]) -> list[LoadOfBoth]:
    result = []
    for one in loads:
        sides = [side.loads.get(one.id) for side in (new, old)]
        means = [float(np.nanmean(side)) for side in sides if side is not None and np.isfinite(side).any()]
        if len(means) == len(sides):
            result.append(LoadOfBoth(one, means[0], means[1]))
    return result
