"""A pod's program: it looks up names with the system's resolver, in its own network and with its own resolv.conf.

Stand-alone: python pod.py PLAN, a JSON file. It prints "ready" once it has left the machine's network and /etc, waits
for its start time (µs since the epoch) on standard input, looks up names, and prints the results as one JSON line. Then
it waits for the end of its input, as packets of others might still use its link. On SIGHUP it rereads the names of its
plan. If the plan has no files, it is already in a pod of a cluster, and begins at once.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
import threading
import time
from typing import Any

_CLONE_NEWNS, _CLONE_NEWNET = 0x20000, 0x40000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    with open(sys.argv[1]) as file:
        plan = json.load(file)
    if plan["files"]:
        _leave(plan["files"])
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        go = sys.stdin.readline()
        if not go:
            return
        plan["start_us"] = int(go)
    else:
        plan["start_us"] = time.time_ns() // 1000
    signal.signal(signal.SIGHUP, lambda *_: plan.update(names=_names(sys.argv[1])))
    looked: list[tuple[int, int, bool]] = []
    workers = [threading.Thread(target=_look_up, args=(plan, index, looked)) for index in range(plan["workers"])]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sent, received = _datagrams()
    sys.stdout.write(json.dumps({"looked": sorted(looked), "sent": sent, "received": received}) + "\n")
    sys.stdout.flush()
    sys.stdin.read()


def _leave(files: dict[str, str]) -> None:
    """Leave this machine's network and /etc; `files` says which file of ours covers which."""
    _check(_libc.unshare(_CLONE_NEWNS | _CLONE_NEWNET), "unshare")
    _check(_libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), "mount --make-rprivate /")
    for own, name in files.items():
        target = os.path.realpath(name)
        _check(_libc.mount(own.encode(), target.encode(), None, _MS_BIND, None), f"mount over {target}")


def _names(path: str) -> list[str]:
    with open(path) as file:
        return list(json.load(file)["names"])


def _check(result: int, what: str) -> None:
    if result != 0:
        raise SystemExit(f"{what}: {os.strerror(ctypes.get_errno())}")


def _look_up(plan: dict[str, Any], first: int, looked: list[tuple[int, int, bool]]) -> None:
    """Every `workers`-th lookup, each at its time whether or not the others have ended."""
    rate = plan["rate"]
    for index in range(first, round(plan["seconds"] * rate), plan["workers"]):
        due = plan["start_us"] / 1e6 + (index + plan["phase"]) / rate
        time.sleep(max(0.0, due - time.time()))
        begin = time.monotonic_ns()
        try:
            names = plan["names"]
            socket.getaddrinfo(names[index % len(names)].encode(), 443, type=socket.SOCK_STREAM)
            found = True
        except OSError:
            found = False
        looked.append((round(due * 1e6), (time.monotonic_ns() - begin) // 1000, found))


def _datagrams() -> tuple[int, int]:
    """UDP datagrams that this network namespace sent and received: its DNS queries and their answers."""
    with open("/proc/self/net/snmp") as file:
        names, values = (line.split() for line in file if line.startswith("Udp:"))
    counts = dict(zip(names[1:], map(int, values[1:]), strict=True))
    return counts["OutDatagrams"], counts["InDatagrams"]


if __name__ == "__main__":
    main()
