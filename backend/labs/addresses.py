"""Loopback addresses for a lab's servers and clients: each its own, as pods have."""

from __future__ import annotations

import itertools
import os
import socket
from dataclasses import dataclass

_runs = itertools.count()


@dataclass(frozen=True, slots=True)
class Block:
    """127.`second`.0.0/16, all of which is the machine's own."""

    second: int

    @classmethod
    def unused(cls) -> Block:
        """One that no other lab uses, nor an earlier run of this process; where every port 53 is taken, any one."""
        begin = os.getpid() * 7 + next(_runs)
        blocks = [cls(16 + (begin + attempt) % 200) for attempt in range(200)]
        return next((block for block in blocks if block._is_free()), blocks[0])

    def address(self, third: int, fourth: int) -> str:
        return f"127.{self.second}.{third}.{fourth}"

    def _is_free(self) -> bool:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind((self.address(0, 10), 53))
            except OSError:
                return False
        return True
