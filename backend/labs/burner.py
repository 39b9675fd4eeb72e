"""A noisy process in the cgroup: it uses a burst of CPU every few seconds, then rests.

Stand-alone: python burner.py EVERY_MS BURN_MS WORKERS. Each worker burns its share of BURN_MS of CPU time.
"""

from __future__ import annotations

import os
import sys
import time


def main() -> None:
    every_s, burn_s, workers = float(sys.argv[1]) / 1e3, float(sys.argv[2]) / 1e3, int(sys.argv[3])
    start = time.monotonic() + every_s / 2
    for _ in range(workers - 1):
        if os.fork() == 0:
            break
    turn = 0
    while True:
        time.sleep(max(0.0, start + turn * every_s - time.monotonic()))
        turn += 1
        until = time.process_time() + burn_s / workers
        while time.process_time() < until:
            sum(range(1000))


if __name__ == "__main__":
    main()
