"""A link with latency between two network namespaces: a TUN device in each, and this program between them.

python3 -I delay.py PID PID MS

Packets of one device leave the other MS milliseconds later. It runs alone, without the lab's other modules.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import fcntl
import os
import select
import struct
import sys
import time

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI, _CLONE_NEWNET = 0x400454CA, 0x0001, 0x1000, 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def tun(pid: str) -> int:
    """A device `wire0` in the network namespace of a process; what is sent to it can be read here."""
    descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    if _libc.setns(descriptor, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
    os.close(descriptor)
    made = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(made, _TUNSETIFF, struct.pack("16sH22x", b"wire0", _IFF_TUN | _IFF_NO_PI))
    return made


def carry(ends: tuple[int, int], delay_s: float) -> None:
    """Forward packets until terminated."""
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    waiting: collections.deque[tuple[float, int, bytes]] = collections.deque()
    while True:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, to, packet = waiting.popleft()
            with contextlib.suppress(OSError):  # a device that is not up yet accepts none
                os.write(to, packet)
        patience = max(0.0, waiting[0][0] - now) if waiting else None
        for end in select.select(ends, [], [], patience)[0]:
            came = time.monotonic()
            for _ in range(64):
                try:
                    waiting.append((came + delay_s, other[end], os.read(end, 65536)))
                except BlockingIOError:
                    break


if __name__ == "__main__":
    first, second, ms = sys.argv[1:]
    devices = tun(first), tun(second)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    carry(devices, float(ms) / 1e3)
