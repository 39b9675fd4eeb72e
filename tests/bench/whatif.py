"""Time of a what-if: ten minutes of 100 ms ticks (6,000), case 1's production numbers; prints one JSON object.

`cd backend && uv run python ../tests/bench/whatif.py` exits with 1 if a prediction takes 100 ms or more.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jitterscope.diagnosis.areas.cpu.whatif.predict import predict, prepare
from jitterscope.diagnosis.areas.cpu.whatif.types import Setting
from tests.diagnosis.whatif_traces import production

MOST_MS = 100.0
REPEATS = 15


def _ms(what: Callable[[], object]) -> dict[str, float]:
    """Wall time in ms, and CPU time, which other programs on the machine do not lengthen."""
    wall, cpu = [], []
    for _ in range(REPEATS):
        began, used = time.perf_counter(), time.process_time()
        what()
        wall.append((time.perf_counter() - began) * 1000)
        cpu.append((time.process_time() - used) * 1000)
    return {
        "median_ms": round(statistics.median(wall), 1),
        "max_ms": round(max(wall), 1),
        "cpu_median_ms": round(statistics.median(cpu), 1),
    }


def main() -> int:
    trace = production(600)
    prepared = prepare(trace)
    now = trace.setting
    tried: dict[str, Setting] = {
        "as recorded": now,
        "limit": replace(now, cpu_limit=40.0),
        "half the limit": replace(now, cpu_limit=4.5),
        "gogc": replace(now, gogc=None, gomemlimit_bytes=3 << 30),
        "gogc 50": replace(now, gogc=50.0),
        "gomaxprocs": replace(now, gomaxprocs=9),
        "burst": replace(now, burst_us=900_000),
        "period of 10 ms": replace(now, period_us=10_000),
        "at the limit": replace(now, cpu_limit=0.85),
    }
    times = {name: _ms(partial(predict, prepared, setting, timeline=True)) for name, setting in tried.items()}
    result = {"ticks": len(trace.usage_us), "prepare": _ms(lambda: prepare(trace)), "predict": times}
    sys.stdout.write(json.dumps(result, indent=2) + "\n")
    return 0 if max(one["median_ms"] for one in times.values()) < MOST_MS else 1


if __name__ == "__main__":
    raise SystemExit(main())
