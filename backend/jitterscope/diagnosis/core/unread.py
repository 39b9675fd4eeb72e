"""How long requests lay in the socket before the server read them: a program whose threads do not run reads nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from jitterscope.diagnosis.core.snapshot import ResourceView

# Fewer answers say nothing about the others.
LEAST = 20


@dataclass(frozen=True, slots=True)
class Unread:
    """Of late answers whose requests' time in the socket is known (`answers`), that time and the whole one (µs)."""

    answers: int
    waited_us: float
    took_us: float

    @property
    def ratio(self) -> float:
        """The share (0..1) of their time that they lay unread; NaN: not known of any."""
        return min(1.0, self.waited_us / self.took_us) if self.took_us > 0 else math.nan


def unread(servers: Iterable[ResourceView], over_us: Iterable[float]) -> Unread:
    """For answers of each server that took longer than its `over_us`: all those over 20 ms, and some of the others."""
    answers, waited_us, took_us = 0, 0.0, 0.0
    for server, limit_us in zip(servers, over_us, strict=True):
        single = server.queries
        if single is None or single.queue_wait_us is None:
            continue
        chosen = (single.latency_us > limit_us) & (single.queue_wait_us >= 0)
        answers += int(chosen.sum())
        waited_us += float(single.queue_wait_us[chosen].sum())
        took_us += float(single.latency_us[chosen].sum())
    return Unread(answers, waited_us, took_us)
