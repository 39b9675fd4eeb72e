"""A fourth of the same work again and again, another one with each commit. docs/decisions/0075 says why.

JITTERSCOPE_PARTS=all, which `make test-fuzz` sets, chooses all of it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from tests.support import lab_plan

T = TypeVar("T")

PARTS = 4
_NOW = None if os.environ.get("JITTERSCOPE_PARTS") == "all" else lab_plan.turn("turn", Path(__file__).parents[2])


def part_of(work: Sequence[T]) -> Sequence[T]:
    """Every fourth of `work`."""
    return work if _NOW is None else work[_NOW.part % PARTS :: PARTS]
