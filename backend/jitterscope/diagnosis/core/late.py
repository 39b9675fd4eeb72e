"""When an answer is late: over its server's objective if one is set, else over 20 ms and far over its baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.objective import Objective
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.snapshot import ResourceView

TIMES_USUAL = 3.0
# A smaller multiple of the median is not worth mentioning.
_FAR = 2.0


@dataclass(frozen=True, slots=True)
class Late:
    """An answer of one server is late after `over_us`. `usual_us`: its calm median; None: not known."""

    over_us: float
    usual_us: float | None = None
    objective: Objective | None = None

    @property
    def times_usual(self) -> float | None:
        """The multiple of the calm median; None if that is unknown, or the multiple is small."""
        if not self.usual_us or self.over_us < _FAR * self.usual_us:
            return None
        return self.over_us / self.usual_us

    @property
    def words(self) -> str:
        """ "over the objective of 50 ms"; "over 20 ms, 12 times its calm median"."""
        if self.objective is not None:
            return f"over the objective of {self.objective.limit}"
        return over(self.over_us, self.times_usual)


def over(over_us: float, times_usual: float | None) -> str:
    """ "over 20 ms, 12 times its calm median"; without the multiple if that is unknown."""
    if times_usual is None:
        return f"over {say.ms(over_us)}"
    far = f"{times_usual:.2g}" if times_usual < 9.95 else f"{times_usual:,.0f}"
    return f"over {say.ms(over_us)}, {far} times its calm median"


def late_after(usual: float | None) -> float:
    """The time (µs) after which an answer is slow, for this baseline and without an objective."""
    return max(float(SLOW_US), TIMES_USUAL * (usual or 0.0))


def late(server: ResourceView, usual: float | None, without: float | None = None) -> Late:
    """The limit of a server with this calm median (µs).

    `without`: after what time (µs) an answer is late if no objective is set; by the baseline if omitted.
    """
    if server.objective is not None:
        return Late(float(server.objective.limit_us), usual, server.objective)
    return Late(late_after(usual) if without is None else without, usual)


def words(limits: Sequence[Late], *, brief: bool = False) -> str:
    """The same for several servers: "over 20 to 90 ms, by server". `brief`: without the median."""
    if not limits:
        return over(SLOW_US, None)
    low, high = min(one.over_us for one in limits), max(one.over_us for one in limits)
    set_by_people = sum(one.objective is not None for one in limits)
    if low < high:
        what = "the objectives of " if set_by_people == len(limits) else ""
        return f"over {what}{low / 1000:,.3g} to {say.ms(high)}, by server"
    if 0 < set_by_people < len(limits):
        return over(high, None)
    # If they share one limit, the one that it exceeds by the smallest factor.
    least = max(limits, key=lambda one: one.usual_us or 0.0)
    return Late(least.over_us, None, least.objective).words if brief else least.words


def allowance(limits: Sequence[Late]) -> str:
    """ " The objective allows 1.0 %.", if all servers share one objective; else nothing."""
    shares = {None if one.objective is None else one.objective.allowed_ratio for one in limits}
    share = shares.pop() if len(shares) == 1 else None
    return "" if share is None else f" The objective allows {say.percent(share)}."
