"""Memory that Python has freed but the C library keeps."""

from __future__ import annotations

import ctypes
import sys
import time

_last = [float("-inf")]


def give_back(at_most_every_s: float = 0.0) -> None:
    """Return free heap pages to the system: otherwise glibc keeps the peak of the largest computation for good.

    Takes milliseconds; does nothing with other C libraries, and runs at most every `at_most_every_s`.
    """
    now = time.monotonic()
    if sys.platform == "linux" and now - _last[0] >= at_most_every_s:
        _last[0] = now
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
