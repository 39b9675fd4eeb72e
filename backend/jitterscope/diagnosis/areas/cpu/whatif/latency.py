"""Latencies of a trace outside its stalls, and quantiles of what queries would see with the waits of a replay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.cpu.whatif.types import Trace
from jitterscope.diagnosis.core.sketch import bucket_of, value_of
from jitterscope.diagnosis.core.snapshot import FloatArray, IntArray
from jitterscope.diagnosis.core.stats import BoolArray

BUCKETS = 480  # of sketch.GAMMA: up to 150 s
_ENOUGH = 30
# While GC runs unthrottled, a query waits for a P that marks: up to a preemption (10 ms, runtime/proc.go
# forcePreemptNS).
_GC_WAIT_US = 1_500.0


@dataclass(frozen=True, slots=True)
class Latencies:
    """Shares (BUCKETS,), summing to 1, of answers in quiet ticks and in those where GC ran unthrottled.

    `gc_measured`: the latter were observed; otherwise they are the quiet ones plus an exponential wait. `typical_us`:
    the median of the quiet ones. `hiccups`: stretches of quiet ticks with answers over the threshold, for any reason
    (the node, the network): they come in clusters.
    """

    quiet: FloatArray
    in_gc: FloatArray
    gc_measured: bool
    typical_us: float
    slow_quiet: float
    hiccups: int


def measure(trace: Trace, quiet: BoolArray, free_gc: BoolArray) -> Latencies | None:
    """The latencies; None if latency was not measured."""
    tick, bucket, count = _entries(trace)
    if not len(tick):
        return None
    still = quiet[tick]
    if count.sum() < _ENOUGH:
        return None
    calm = _shares(bucket[still], count[still]) if count[still].sum() >= _ENOUGH else _fastest(bucket, count)
    free = free_gc[tick]
    measured = bool(count[free].sum() >= _ENOUGH)
    typical = float(value_of(np.array([int(np.searchsorted(np.cumsum(calm), 0.5))]))[0])
    in_gc = _shares(bucket[free], count[free]) if measured else _delayed(calm)
    limit = int(bucket_of(np.array([float(trace.slow_threshold_us)]))[0]) + 1
    late = np.unique(tick[still & (bucket >= limit) & (count > 0)])
    hiccups = int((np.diff(late, prepend=-9) > 1).sum())
    return Latencies(calm, in_gc, measured, typical, float(calm[limit:].sum()), hiccups)


def _entries(trace: Trace) -> tuple[IntArray, IntArray, IntArray]:
    n = len(trace.usage_us)
    found = trace.latency_histogram
    if found is not None and len(found.tick):
        kept = (found.tick >= 0) & (found.tick < n)
        return found.tick[kept], np.clip(found.bucket[kept], 0, BUCKETS - 1), found.count[kept]
    empty = np.zeros(0, dtype=np.int64)
    if trace.sent_us is None or trace.latency_us is None or not trace.complete:
        return empty, empty, empty
    sent, latency = trace.sent_us, trace.latency_us
    inside = np.zeros(len(sent), dtype=np.bool_)
    for low, high in trace.complete:
        inside |= (sent >= low) & (sent < high)
    tick = (sent[inside] + latency[inside] - trace.start_us) // trace.step_us
    bucket = np.clip(bucket_of(latency[inside].astype(np.float64)), 0, BUCKETS - 1)
    kept = (tick >= 0) & (tick < n)
    return tick[kept], bucket[kept], np.ones(int(kept.sum()), dtype=np.int64)


def _shares(bucket: IntArray, count: IntArray) -> FloatArray:
    total = np.bincount(bucket, weights=count, minlength=BUCKETS)[:BUCKETS]
    return np.asarray(total / max(1.0, float(total.sum())))


def _fastest(bucket: IntArray, count: IntArray) -> FloatArray:
    """The fastest fifth of all answers: the undisturbed latency if every tick has a stall."""
    shares = _shares(bucket, count)
    kept = np.minimum(np.cumsum(shares), 0.2)
    fast = np.diff(kept, prepend=0.0)
    return np.asarray(fast / fast.sum())


def _delayed(calm: FloatArray) -> FloatArray:
    """Quiet latencies plus an exponential wait, drawn at its even quantiles."""
    waits = -_GC_WAIT_US * np.log1p(-(np.arange(40) + 0.5) / 40)
    values = value_of(np.arange(BUCKETS))
    out = np.zeros(BUCKETS)
    kept = np.flatnonzero(calm)
    for wait in waits:
        np.add.at(out, np.minimum(bucket_of(values[kept] + wait), BUCKETS - 1), calm[kept] / len(waits))
    return out


@dataclass(frozen=True, slots=True)
class Seen:
    """What queries would have seen, (R,) each: share over the threshold, quantiles in ms."""

    slow_ratio: FloatArray
    p50_ms: FloatArray
    p99_ms: FloatArray
    max_ms: FloatArray


def combine(
    known: Latencies,
    wait_us: FloatArray,
    queries: FloatArray,
    in_burst: BoolArray,
    queries_outside: float,
    threshold_us: float,
    gc_factor: FloatArray,
    slow_factor: float,
) -> Seen:
    """Combine measured latencies with replayed waits.

    `wait_us`, `in_burst` (R, steps), `queries` (steps,) that arrive in them; `queries_outside` arrive at other times.
    `gc_factor` (R,): factor of latency during GC over the measured one. `slow_factor`: stalled queries relative to
    modeled ones.
    """
    rows = len(wait_us)
    delayed = wait_us > 2.0 * known.typical_us
    count = np.broadcast_to(queries, wait_us.shape)
    busy = in_burst & ~delayed
    in_gc = (count * busy).sum(axis=1)
    calm = (count * (~delayed & ~busy)).sum(axis=1) + queries_outside
    total = calm[:, np.newaxis] * known.quiet
    total += in_gc[:, np.newaxis] * _stretched(known.in_gc, gc_factor)
    where = np.nonzero(delayed)
    late = wait_us[where] + known.typical_us
    bucket = np.minimum(bucket_of(late), BUCKETS - 1)
    weight = count[where]
    total += np.bincount(where[0] * BUCKETS + bucket, weights=weight, minlength=rows * BUCKETS).reshape(rows, BUCKETS)
    everything = np.maximum(total.sum(axis=1), 1e-9)
    over = np.bincount(where[0], weights=weight * (late > threshold_us), minlength=rows) * slow_factor
    limit = int(bucket_of(np.array([threshold_us]))[0]) + 1
    over += calm * known.quiet[limit:].sum() + in_gc * known.in_gc[limit:].sum()
    reached = np.cumsum(total, axis=1) / everything[:, np.newaxis]
    values = value_of(np.arange(BUCKETS)) / 1000
    p50, p99 = (values[np.minimum((reached < q).sum(axis=1), BUCKETS - 1)] for q in (0.5, 0.99))
    # There must be one whole query.
    seen = np.cumsum(total[:, ::-1], axis=1)[:, ::-1] >= 0.5
    highest = np.where(seen.any(axis=1), BUCKETS - 1 - seen[:, ::-1].argmax(axis=1), 0)
    return Seen(np.clip(over / everything, 0.0, 1.0), p50, p99, values[highest])


def _stretched(shares: FloatArray, factor: FloatArray) -> FloatArray:
    """Shares shifted by a factor of latency, one row per factor."""
    shift = np.rint(np.log(factor) / np.log(1.04)).astype(np.int64)
    index = np.arange(BUCKETS)[np.newaxis, :] - shift[:, np.newaxis]
    return np.where((index >= 0) & (index < BUCKETS), shares[np.clip(index, 0, BUCKETS - 1)], 0.0)
