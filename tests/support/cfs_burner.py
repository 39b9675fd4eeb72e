"""A worker with a known load: in each on-phase a fixed amount of CPU work by its own clock, then it sleeps.

Stand-alone: python cfs_burner.py CPU WORK_US EVERY_US PHASES. It prints `ready`, reads its start (CLOCK_MONOTONIC, ns)
from standard input, and after the last phase prints one JSON list with [planned, began, ended, CPU used] (ns) per
phase. Then it waits for the end of its input, so that its exit is not part of the load.
"""

from __future__ import annotations

import json
import os
import sys
import time


def burn(work_ns: int, ns_per_round: float) -> None:
    """Use `work_ns` of CPU.

    Reading the clock makes the kernel account the time, which programs normally do not cause, so it is read seldom:
    after nine tenths of what remains.
    """
    end = time.thread_time_ns() + work_ns
    while (left := end - time.thread_time_ns()) > 5_000:
        sum(range(max(1, int(0.9 * left / ns_per_round))))


def main() -> None:
    cpu, work_us, every_us, phases = (int(word) for word in sys.argv[1:])
    os.sched_setaffinity(0, {cpu})
    before = time.thread_time_ns()
    sum(range(1_000_000))
    ns_per_round = (time.thread_time_ns() - before) / 1e6
    print("ready", flush=True)  # noqa: T201
    start = int(sys.stdin.readline())
    log = []
    for phase in range(phases):
        planned = start + phase * every_us * 1000
        time.sleep(max(0, planned - time.monotonic_ns()) / 1e9)
        began, used = time.monotonic_ns(), time.thread_time_ns()
        burn(work_us * 1000, ns_per_round)
        log.append((planned, began, time.monotonic_ns(), time.thread_time_ns() - used))
    print(json.dumps(log), flush=True)  # noqa: T201
    sys.stdin.read()


if __name__ == "__main__":
    main()
