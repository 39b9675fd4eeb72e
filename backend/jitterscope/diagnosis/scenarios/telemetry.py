"""What all simulated telemetry is made of: its time and grid, resources with facts, answers and their histograms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitterscope.diagnosis.core.snapshot import Distribution, Event, FactValue, FloatArray, Queries, ResourceView
from jitterscope.diagnosis.scenarios.distributions import distribution_of

TICK_US = 100_000
# 2026-01-01T00:00:00Z, aligned to ticks.
EPOCH_US = 1_767_225_600_000_000


def queries_of(answered: list[tuple[int, int]], start_us: int, end_us: int) -> Queries:
    """The answered (sent, latency) pairs as the collector keeps them."""
    pairs = np.array(sorted(answered) or np.zeros((0, 2)), dtype=np.int64).reshape(-1, 2)
    return Queries(pairs[:, 0], pairs[:, 1], np.zeros(len(pairs), dtype=np.int64), complete=((start_us, end_us),))


def latency_of(queries: Queries, ticks: int) -> Distribution:
    """Histogram of latencies by the tick in which the answer left."""
    tick = np.clip((queries.sent_us + queries.latency_us - EPOCH_US) // TICK_US, 0, ticks - 1)
    return distribution_of(tick, queries.latency_us)


def facts_of(values: dict[str, str]) -> tuple[FactValue, ...]:
    return tuple(FactValue(name, value, EPOCH_US) for name, value in values.items())


def inside_ticks(spans: Sequence[tuple[float, float]], ticks: int) -> FloatArray:
    """Share (0..1) of each tick that lies in the spans."""
    edges = np.arange(ticks + 1) * float(TICK_US)
    inside = np.zeros(ticks)
    for at, seconds in spans:
        low, high = at * 1e6, (at + seconds) * 1e6
        inside += np.clip(np.minimum(edges[1:], high) - np.maximum(edges[:-1], low), 0, None) / TICK_US
    return np.minimum(1.0, inside)


def frozen(columns: dict[str, FloatArray], spans: Sequence[tuple[float, float]], ticks: int) -> dict[str, FloatArray]:
    """What a collector records of a node that stands still in each (at_s, seconds): no tick that is due meanwhile.

    The tick that ended last before the node goes on is read then, late.
    """
    made = {name: values.copy() for name, values in columns.items()}
    made["realtime_latency_us"] = np.full(ticks, 120.0)
    made.setdefault("collector_lateness_us", np.full(ticks, 150.0))
    for at_s, seconds in spans:
        begin, end = int(at_s * 1e6), int((at_s + seconds) * 1e6)
        due, last = -(-begin // TICK_US), end // TICK_US
        if due > last or last > ticks:
            continue
        for values in made.values():
            values[due - 1 : last - 1] = np.nan
        made["realtime_latency_us"][last - 1] = end - due * TICK_US
        made["collector_lateness_us"][last - 1] = end - last * TICK_US
    return made


def view(
    number: int,
    kind: str,
    name: str,
    columns: dict[str, FloatArray],
    facts: dict[str, str],
    events: tuple[Event, ...] = (),
) -> ResourceView:
    return ResourceView(number, kind, name, name, series=columns, facts=facts_of(facts), events=events)
