"""How much work something is, on any machine: a busy one makes nothing slower that is counted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls_of(what: Callable[[], object]) -> int:
    """Functions called, those of the interpreter and its libraries included."""
    count = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        what()
    finally:
        sys.setprofile(before)
    return count
