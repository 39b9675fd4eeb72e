"""Makes garbage in circles, and writes each collection to the file given: generation, begin and end in microseconds since the Unix
epoch. Ends when its standard input is closed."""

import gc
import sys
import threading
import time


class Node:
    def __init__(self) -> None:
        self.me = self


def main() -> None:
    log = open(sys.argv[1], "w", buffering=1)
    began = 0.0

    def noted(phase: str, info: dict[str, int]) -> None:
        nonlocal began
        if phase == "start":
            began = time.time()
        else:
            log.write(f"{info['generation']} {began * 1e6:.0f} {time.time() * 1e6:.0f}\n")

    live = [Node() for _ in range(50_000)]
    gc.callbacks.append(noted)

    def work() -> None:
        at = 0
        while True:
            for _ in range(500):
                live[at] = Node()
                at = (at + 7919) % len(live)
            time.sleep(0.02)

    threading.Thread(target=work, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()


main()
