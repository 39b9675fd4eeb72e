"""Loopback addresses for a lab's servers and clients: each gets its own, as pods do."""

from __future__ import annotations

import itertools
import os
import socket
from dataclasses import dataclass

_runs = itertools.count()


@dataclass(frozen=True, slots=True)
class Block:
    """127.`second`.0.0/16, which is all local to this machine."""

    second: int

    @classmethod
    def unused(cls) -> Block:
        """A block that no other lab and no earlier run of this process uses; any block if every port 53 is taken."""
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
