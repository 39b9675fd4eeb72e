"""Which answers of a subject's servers are slow.

Slow is relative: an answer is slow if it took longer than its server's objective, if one is set, else over 20 ms and
over three times the usual answer time of its server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jitterscope.diagnosis.core import late as lateness
from jitterscope.diagnosis.core.late import Late
from jitterscope.diagnosis.core.served import Served, metric, slow_of, summed, usual_us
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.sketch import value_of
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray

# How far a value may be from its bucket's.
_WITHIN = 1.02
# Of all answers. Fewer of a server that hardly rests have waited too: its queue never empties.
_LEAST_CALM = 0.1


@dataclass(frozen=True, slots=True)
class Slow:
    """Slow answers of each tick, and the limit of each server in `limits`."""

    ticks: FloatArray
    limits: tuple[Late, ...]

    @property
    def over_us(self) -> tuple[float, ...]:
        return tuple(one.over_us for one in self.limits)

    @property
    def most_us(self) -> float:
        return max(self.over_us, default=float(SLOW_US))

    @property
    def words(self) -> str:
        return lateness.words(self.limits)


def limits(snapshot: Snapshot, servers: Sequence[ResourceView], calm: BoolArray) -> tuple[Late, ...]:
    """When an answer of each server is late, by the baseline in the ticks `calm`."""
    return tuple(lateness.late(server, usual_us(server, calm)) for server in servers)


def quickest_us(snapshot: Snapshot, server: ResourceView) -> float | None:
    """The answer time (µs) of the quickest quarter: a baseline where the rest may be a stall; None: too few answers."""
    return usual_us(server, np.ones(snapshot.ticks, dtype=np.bool_), 0.25)


def loosest_us(found: Sequence[Late]) -> float:
    """The time (µs) after which an answer is late whichever of the servers gave it."""
    return max((one.over_us for one in found), default=float(SLOW_US))


def may_be_slow(server: ResourceView) -> bool:
    """A sign: an answer was slow, or might have been: below 20 ms no counter shows a missed objective."""
    values = server.series.get(metric(server, "slow"))
    if server.objective is not None and server.objective.limit_us < SLOW_US:
        return True
    return values is not None and bool((values > 0).any())


def may_be_late(snapshot: Snapshot, server: ResourceView, q: float = 0.5) -> bool:
    """A sign: as `may_be_slow`, and an answer took far longer than usual: than the `q`-quantile of the window.

    A server all of whose answers wait for a distant upstream is slow, and not late.
    """
    part = server.distributions.get(metric(server, "latency"))
    if part is None or server.objective is not None:
        return may_be_slow(server)
    over_us = lateness.late_after(usual_us(server, np.ones(snapshot.ticks, dtype=np.bool_), q))
    return may_be_slow(server) and bool((value_of(part.bucket) * _WITHIN > over_us).any())


def slow(snapshot: Snapshot, served: Served, calm: BoolArray | None = None) -> Slow:
    """By the baseline in the ticks `calm`. If that is unknown, answers over 20 ms are slow.

    Without `calm`, the quickest quarter of a TCP server's answers is the baseline: the rest may be a stall.
    """
    found = tuple(lateness.late(server, _usual(snapshot, server, calm)) for server in served.servers)
    if calm is None:
        found = tuple(replace(one, usual_us=None) for one in found)
    if all(one.over_us == SLOW_US for one in found):
        return Slow(served.slow, found)
    rows = [slow_of(snapshot, server, one.over_us) for server, one in zip(served.servers, found, strict=True)]
    return Slow(summed(snapshot, rows), found)


def beyond_objectives(snapshot: Snapshot, found: Sequence[Late], served: Served, suffered: float, since: int) -> float:
    """Of `suffered` late answers since the tick `since`, those that no objective allows: all if none is set."""
    if not any(one.objective for one in found):
        return suffered
    late = spare = 0.0
    for server, one in zip(served.servers, found, strict=True):
        over = float(np.nansum(slow_of(snapshot, server, one.over_us)[since:]))
        late += over
        if one.objective is not None:
            requests = float(np.nansum(series(server, metric(server, "requests"), snapshot.ticks)[since:]))
            spare += min(over, one.objective.allowed_ratio * requests)
    return max(0.0, min(suffered, late - spare))


def _usual(snapshot: Snapshot, server: ResourceView, calm: BoolArray | None) -> float | None:
    if calm is not None:
        return usual_us(server, calm) if _answered(server, calm) >= _LEAST_CALM else None
    return None if server.kind == "dns_server" else quickest_us(snapshot, server)


def _answered(server: ResourceView, ticks: BoolArray) -> float:
    """The share of the timed answers in these ticks, 0..1."""
    part = server.distributions.get(metric(server, "latency"))
    total = 0.0 if part is None else float(part.count.sum())
    return 0.0 if part is None or total <= 0 else float(part.count[ticks[part.tick]].sum()) / total
