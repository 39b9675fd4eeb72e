"""How long tests wait for what must happen.

Others might share the machine, so only what never happens fails; how long something takes is measured by tests/bench.
"""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 120.0


def wait_for(happened: Callable[[], object], what: str = "it", every_s: float = 0.05) -> None:
    """Wait until `happened()` is true."""
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline, f"{what} did not happen within {PATIENCE_S:.0f} s"
        time.sleep(every_s)
