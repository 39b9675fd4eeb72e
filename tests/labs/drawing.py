"""Parameters of labs drawn at random around those of a variant: what fits only the example fails with others.

JITTERSCOPE_DRAW is the seed (`make test-live LABS=all DRAW=7`); without one, each variant has its own parameters.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, TypeVar

from pydantic import BaseModel

P = TypeVar("P", bound=BaseModel)
V = TypeVar("V", bound=str)

SEED = os.environ.get("JITTERSCOPE_DRAW", "")
# By parameter: the lowest and highest factor.
Factors = Mapping[str, tuple[float, float]]


def drawn(
    parameters_of: Callable[[V, dict[str, Any]], P],
    variant: V,
    factors: Factors,
    given: dict[str, Any],
    seed: str = SEED,
) -> P:
    """The variant's parameters, each multiplied by a factor if there is a seed; what is given stays.

    What a variant turns off (0, -1, None) stays off.
    """
    own = parameters_of(variant, given)
    if not seed:
        return own
    changed = {}
    for name, (low, high) in factors.items():
        value = getattr(own, name)
        if name in given or value is None or value <= 0:
            continue
        times = Random(f"{seed}/{type(own).__module__}/{variant}/{name}").uniform(low, high)
        changed[name] = max(1, round(value * times)) if isinstance(value, int) else round(value * times, 2)
    return parameters_of(variant, {**changed, **given})
