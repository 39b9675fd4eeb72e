"""Limits that count by the minute of the clock: what is tried across its end is partly counted anew."""

from __future__ import annotations

import time


def early_in_a_minute(room_s: float = 20.0) -> None:
    """Wait for the next minute where less than `room_s` are left of this one."""
    left_s = 60.0 - time.time() % 60.0
    if left_s < room_s:
        time.sleep(left_s + 0.1)
