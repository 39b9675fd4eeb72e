"""Requests to a what-if model and its answers: plain data, the same for every area."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.snapshot import FloatArray

# By the control's id; None: off, or as recorded if the control has no "off".
Value = float | str | tuple[str, ...] | None
Settings = Mapping[str, Value]


class InvalidSettingError(ValueError):
    """An impossible setting: `control` of the `number`th set of settings, and why."""

    def __init__(self, number: int, control: str, why: str) -> None:
        super().__init__(why)
        self.number, self.control, self.why = number, control, why


@dataclass(frozen=True, slots=True)
class Goal:
    """Find the smallest value of each control that brings a figure to `at_most`, all else as recorded."""

    figure: str
    at_most: float


@dataclass(frozen=True, slots=True)
class Trials:
    """Sets of settings to try, each applied to what was recorded.

    `timeline`: include the predicted course, tick by tick.
    """

    settings: tuple[Settings, ...] = ()
    timeline: bool = False
    goal: Goal | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A recorded `value`, or a predicted `interval` (90 %); both None: not measured, or not predictable."""

    id: str
    title: str
    unit: str
    value: float | None = None
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """One column of a timeline, one value per tick; merged ticks take the maximum, or the sum."""

    id: str
    values: FloatArray
    merged: Literal["most", "sum"] = "most"


@dataclass(frozen=True, slots=True)
class Timeline:
    """Columns from `start_us` on, and spans [start, end) of what happened (GC cycles)."""

    start_us: int
    step_us: int
    courses: tuple[Course, ...]
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Tried:
    """The window as it would have been with one set of settings. `settings` are those of all controls.

    `outcome` is the answer in words, `good` whether it is desirable. `cannot_tell` says why figures are missing.
    """

    settings: Settings
    figures: tuple[Figure, ...]
    outcome: str | None = None
    good: bool | None = None
    cannot_tell: str | None = None
    slow_threshold_us: int = SLOW_US
    notes: tuple[str, ...] = ()
    timeline: Timeline | None = None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Settings worth trying, with a short name."""

    title: str
    settings: Settings


@dataclass(frozen=True, slots=True)
class Searched:
    """The smallest `value` of one control that meets the goal; None if none does, and `sentence` says why."""

    control: str
    value: float | None
    sentence: str
    tried: Tried | None


@dataclass(frozen=True, slots=True)
class Range:
    """The useful range of a control's slider in this window, in the control's unit."""

    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Answer:
    """`settings` and `figures` are what was recorded; `tried` is parallel to the requested settings.

    `choices` are the values of controls that take names, `cannot_tell` says why there is no answer at all. An answer
    that took over `slow_threshold_us` counts as slow.
    """

    settings: Settings = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()
    timeline: Timeline | None = None
    tried: tuple[Tried, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    searched: tuple[Searched, ...] | None = None
    ranges: Mapping[str, Range] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    cannot_tell: str | None = None
    slow_threshold_us: int = SLOW_US
