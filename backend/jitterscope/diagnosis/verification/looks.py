"""When a comparison may be judged, and how strictly.

Whoever looks again and again finds p < 0.05 sooner or later, although nothing differs. So a comparison is judged only
at set amounts of data, and its looks share one error of 5 % (alpha spending; by Bonferroni's inequality it holds
however much the looks have in common): the first may spend half of it, each further one, at twice the data, half of
what is left, and the last one the rest. Data beyond the amount of a look wait for the next one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

ALPHA = 0.05
# A comparison that found nothing comparable begins again with later data. Most have their verdict before that.
_FIRST_WINDOW = 0.8
# What is spent where the load is not known: then a difference must be clearer.
UNSURE = 0.2


@dataclass(frozen=True, slots=True)
class Look:
    """Judge the first `within_s` seconds of data after the change: a difference counts if p is below `level`.

    `next_s`: the amount of data of the next look; None: this is the last one.
    """

    within_s: float
    level: float
    next_s: float | None


def budget(window: int = 0, windows: int = 1) -> float:
    """The error that the looks of one of several successive windows share; over all of them it is `ALPHA`."""
    return ALPHA * (_FIRST_WINDOW if window == 0 else (1 - _FIRST_WINDOW) / max(1, windows - 1))


def first_level(of: float) -> float:
    """The level of the first look of a budget."""
    return of / 2


def reached(collected_s: float, first_s: float, last_s: float, of: float) -> Look | None:
    """The latest look that there is enough data for: at first_s, 2 first_s, 4 first_s, … and last_s. None: too early.

    `of`: the budget of all of them.
    """
    if collected_s < first_s:
        return None
    before_last = max(1, math.ceil(math.log2(last_s / first_s))) if last_s > first_s else 0
    number = math.floor(math.log2(collected_s / first_s))
    if collected_s >= last_s or number >= before_last:
        return Look(max(first_s, last_s), of / 2**before_last, None)
    return Look(first_s * 2**number, of / 2 ** (number + 1), min(last_s, first_s * 2 ** (number + 1)))
