"""Something that a lab samples repeatedly while it runs, in its own thread."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray


class Repeating(ABC):
    """Calls `look` every `every_s` within the context, or again immediately if a call took longer than that."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @abstractmethod
    def look(self, late_us: int) -> None:
        """Take one sample, `late_us` after it was due."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            late_us = max(0, round((time.monotonic() - due) * 1e6))
            due = max(due + self._every_s, time.monotonic())
            self.look(late_us)


class Reading(Repeating):
    """Keeps four numbers per sample, the first of which is its time (µs since the epoch)."""

    def __init__(self, every_s: float) -> None:
        super().__init__(every_s)
        self._rows: list[tuple[int, int, int, int]] = []

    def columns(self) -> NDArray[np.int64]:
        """Everything read so far, with a row for each of the four numbers."""
        return np.array(self._rows, np.int64).reshape(-1, 4).T
