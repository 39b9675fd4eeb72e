"""Limits that count by the minute of the clock: attempts across its end are partly counted anew."""

from __future__ import annotations

import time


def early_in_a_minute(room_s: float = 20.0) -> None:
    """Wait for the next minute if less than `room_s` is left of this one."""
    left_s = 60.0 - time.time() % 60.0
    if left_s < room_s:
        time.sleep(left_s + 0.1)
