"""The stalls that a finding is about, added up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jitterscope.diagnosis.areas.unexplained.readings.waiting import Waiting, waiting
from jitterscope.diagnosis.areas.unexplained.readings.whereabouts import ASLEEP, Account, Where
from jitterscope.diagnosis.core.finding import Confidence
from jitterscope.diagnosis.core.severity import lowered
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

# Fewer late answers, or a smaller part of them in one place, make it less certain.
MANY, ONE_PLACE = 10, 0.6


@dataclass(frozen=True, slots=True)
class Case:
    """`main` are the stalls of the place in which most late answers were, `share` of them all.

    `requests` came since the first stall, over 10 s at least.
    """

    snapshot: Snapshot
    all: tuple[Account, ...]
    main: tuple[Account, ...]
    share: float
    requests: float

    @property
    def where(self) -> Where:
        return self.main[0].where

    @property
    def server(self) -> ResourceView:
        """The one with the slowest answer."""
        return max(self.main, key=lambda one: one.stall.max_us).stall.server

    @property
    def late(self) -> int:
        return sum(one.stall.late for one in self.all)

    @property
    def of(self) -> float:
        return sum(one.stall.of for one in self.all)

    @property
    def max_us(self) -> float:
        return max(one.stall.max_us for one in self.all)

    @property
    def start_us(self) -> int:
        return min(one.stall.start_us for one in self.all)

    @property
    def end_us(self) -> int:
        return max(one.stall.end_us for one in self.all)

    @property
    def length_us(self) -> int:
        """Of the stalls of the main place together."""
        return sum(one.stall.length_us for one in self.main)

    @property
    def waiting(self) -> Waiting | None:
        """What the threads waited in during the stalls of the main place; None if no CPU time says otherwise, or if it
        was not recorded.
        """
        if self.where not in ASLEEP:
            return None
        return waiting(self.snapshot, [one.stall for one in self.main if one.stall.server.id == self.server.id])

    @property
    def confidence(self) -> Confidence:
        """In where the time went: a step less for each signal that is missing."""
        if self.where == "unknown":
            return "low"
        first = self.main[0]
        missing = sum(
            (first.cpu is None or first.whole, first.delay is None, first.waited is None, first.throttled is None)
        )
        untold = self.where in ASLEEP and ((seen := self.waiting) is None or seen.told is None)
        return lowered("high", missing + untold + (self.late < MANY) + (self.share < ONE_PLACE))

    def mean(self, of: Callable[[Account], float | None]) -> float | None:
        """A share over the main stalls, by their length; None where one of them lacks it."""
        values = [(of(one), one.stall.length_us) for one in self.main]
        known = [(value, length) for value, length in values if value is not None]
        if len(known) < len(values):
            return None
        return sum(value * length for value, length in known) / self.length_us
