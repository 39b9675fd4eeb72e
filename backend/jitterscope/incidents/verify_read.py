"""What a verification compares, read from the database: ticks of the subject and of its DNS servers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.diagnosis.sketch import quantile_us
from jitterscope.diagnosis.snapshot import FloatArray, Snapshot
from jitterscope.diagnosis.verification.blocks import Ticks
from jitterscope.incidents import snapshots
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import ResourceRow, SubjectTree
from jitterscope.series import service as series
from jitterscope.series.types import TICK_US

_CPU = ("cpu_usage_us", "cpu_throttled_us", "cpu_periods", "cpu_throttled_periods")
_DNS = ("dns_queries", "dns_slow")
_GC = "go_gc_cycles"


def ticks(session: Session, subject_id: int, from_us: int, to_us: int) -> Ticks | None:
    """One side, 100 ms ticks. None where the subject is gone or has no data in the window."""
    tree = inventory.subject_tree(session, subject_id, from_us, to_us)
    if tree is None or to_us <= from_us:
        return None
    start_us = from_us - from_us % TICK_US
    size = -(-(to_us - start_us) // TICK_US)
    found = series.read_series(session, [subject_id], _CPU, from_us, to_us)
    usage = found.get((subject_id, "cpu_usage_us"))
    if usage is None:
        return None
    servers = [row.id for row in tree.dns_servers]
    processes = [row.id for row in tree.processes]
    dns = series.read_series(session, servers, _DNS, from_us, to_us) if servers else {}
    gc = series.read_series(session, processes, [_GC], from_us, to_us) if processes else {}
    cycles = _sum(list(gc.values()), size)
    return Ticks(
        start_us=start_us,
        step_us=TICK_US,
        usage_us=usage,
        throttled_us=found.get((subject_id, "cpu_throttled_us")),
        periods=found.get((subject_id, "cpu_periods")),
        throttled_periods=found.get((subject_id, "cpu_throttled_periods")),
        queries=_sum([dns[key] for key in dns if key[1] == "dns_queries"], size),
        slow=_sum([dns[key] for key in dns if key[1] == "dns_slow"], size),
        gc_cycles=cycles if cycles is not None else _cycles(session, tree, start_us, size),
    )


def _cycles(session: Session, tree: SubjectTree, start_us: int, size: int) -> FloatArray | None:
    """Cycles that began in each tick, from their events; None where no process of the tree is known to collect."""
    ids = [row.id for row in tree.processes]
    facts = inventory.facts(session, ids, start_us, start_us + size * TICK_US)
    watched = [one for one in ids if any(fact.name == "go.gc_source" for fact in facts[one])]
    if not watched:
        return None
    found = series.read_events(session, watched, start_us, start_us + size * TICK_US, ["go.gc_cycle"])
    begun = [(event.start_us - start_us) // TICK_US for events in found.values() for event in events]
    inside = np.array([tick for tick in begun if 0 <= tick < size], np.int64)
    return np.bincount(inside, minlength=size).astype(np.float64)


def p99_ms(session: Session, subject_id: int, from_us: int, to_us: int) -> float | None:
    """Of all answers of the subject's DNS servers, from their histograms."""
    tree = inventory.subject_tree(session, subject_id, from_us, to_us)
    servers = [] if tree is None else [row.id for row in tree.dns_servers]
    if not servers:
        return None
    found = list(series.read_distributions(session, servers, ["dns_latency_us"], from_us, to_us).values())
    if not found:
        return None
    bucket, count = (np.concatenate([getattr(one, name) for one in found]) for name in ("bucket", "count"))
    return None if not count.sum() else quantile_us(bucket, count, 0.99) / 1000


def snapshot(session: Session, subject_id: int, from_us: int, to_us: int, as_of_us: int) -> Snapshot | None:
    """A snapshot of the workload as it was at `as_of_us`: of processes and servers that followed one another it has
    the one of that time. None where the subject is gone."""
    tree = inventory.subject_tree(session, subject_id, from_us, to_us)
    if tree is None:
        return None
    tree = replace(tree, processes=_of_time(tree.processes, as_of_us), dns_servers=_of_time(tree.dns_servers, as_of_us))
    start_us, end_us = from_us - from_us % TICK_US, to_us - to_us % TICK_US
    return snapshots.read(session, tree, start_us, end_us) if end_us > start_us else None


def members(tree: SubjectTree) -> tuple[int, ...]:
    """Everything that a comparison reads of."""
    rows = (tree.subject, tree.node, *tree.ancestors, *tree.processes, *tree.dns_servers)
    return tuple(row.id for row in rows)


def _of_time(rows: tuple[ResourceRow, ...], as_of_us: int) -> tuple[ResourceRow, ...]:
    """Without what came later, and without what something of the same name replaced by then."""
    there = [row for row in rows if row.first_seen_us <= as_of_us] or list(rows)
    latest: dict[str, ResourceRow] = {}
    for row in sorted(there, key=lambda row: (row.first_seen_us, row.id)):
        latest[row.name.partition(" (pid ")[0] if row.kind == "process" else row.key] = row
    return tuple(row for row in there if row in latest.values())


def _sum(columns: list[FloatArray], size: int) -> FloatArray | None:
    """Missing where all are: processes and servers that followed one another complete each other."""
    if not columns:
        return None
    stacked = np.vstack([column[:size] for column in columns])
    return np.where(np.isnan(stacked).all(axis=0), np.nan, np.nansum(stacked, axis=0))
