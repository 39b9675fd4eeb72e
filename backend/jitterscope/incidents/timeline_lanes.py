"""The picture's lanes beside CPU and DNS: what memory, the kernel and pod start are told by.

Which ones belong to an incident follows from the area of its cause; a lane without data, or of zeros, is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.diagnosis.sketch import quantile_us
from jitterscope.diagnosis.snapshot import FloatArray
from jitterscope.incidents.downsample import fold_max, fold_sum
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import SubjectTree
from jitterscope.series import service as series
from jitterscope.series.catalogue import METRICS
from jitterscope.series.types import TICK_US

Area = Literal["memory", "kernel", "startup"]
Style = Literal["area", "line", "bars"]
Columns = dict[str, Any]

# A gauge that is read every so often holds until it should have been read twice; longer silence is a gap.
_MOST_HOLD_TICKS = 150
_POD_START = ("pod_start_sli_us", "pod_start_total_us")
_QUANTILES = (("P50", 0.5), ("P90", 0.9), ("P99", 0.99))
_SLO_US = 5_000_000.0


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a lane: the sum of a metric over resources of the tree, times `scale`."""

    name: str
    metric: str
    style: Style = "line"
    hot: bool = False
    of: Literal["subject", "node", "processes"] = "subject"
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Lane:
    """Lines of one unit; `fact` of the subject is its limit."""

    id: str
    title: str
    unit: Literal["bytes", "1", "us", "cpu", "ratio"]
    lines: tuple[Line, ...]
    fact: str | None = None


_CPUS, _RATIO = 1 / TICK_US, 1 / TICK_US
_PRESSURE = (
    Line("some task waits", "psi_memory_some_us", "bars", scale=_RATIO),
    Line("all tasks wait", "psi_memory_full_us", "bars", hot=True, scale=_RATIO),
)
_KERNEL_CPU = Lane(
    "kernel_cpu", "CPU of the node, in programs and in the kernel", "cpu",
    (
        Line("programs", "host_user_us", "area", of="node", scale=_CPUS),
        Line("kernel", "host_system_us", "line", hot=True, of="node", scale=_CPUS),
    ),
)  # fmt: skip
_LATE = Lane(
    "lateness", "How late the collector could sample: a stall of the node", "us",
    (Line("late by", "collector_lateness_us", "bars", hot=True, of="node"),),
)  # fmt: skip
_RECLAIM = Lane(
    "reclaim", "What the kernel scans to find memory, per tick", "1",
    (
        Line("pages, in the background", "vm_scan_kswapd_pages", "bars", of="node"),
        Line("pages, by who allocates", "vm_scan_direct_pages", "bars", hot=True, of="node"),
        Line("slab objects", "vm_slabs_scanned", "line", of="node"),
    ),
)  # fmt: skip
_MARGIN = Lane(
    "margin", "Memory that can be given away at once", "bytes",
    (
        Line("available", "memory_available_bytes", "area", of="node"),
        Line("free above the low watermark", "vm_low_margin_bytes", "line", hot=True, of="node"),
    ),
)  # fmt: skip
LANES: Mapping[Area, tuple[Lane, ...]] = {
    "memory": (
        Lane(
            "memory", "Memory of the container", "bytes",
            (
                Line("in use", "memory_usage_bytes", "area"),
                Line("cannot be taken back", "memory_anon_bytes", "line", hot=True),
            ),
            fact="memory.limit_bytes",
        ),
        Lane(
            "concurrency", "What the programs hold at once", "1",
            (
                Line("goroutines", "go_goroutines", "line", hot=True, of="processes"),
                Line("open descriptors", "process_fds", "line", of="processes"),
            ),
        ),
        Lane("pressure", "Share of the time spent waiting for memory", "ratio", _PRESSURE),
        _MARGIN,
        _RECLAIM,
    ),
    "kernel": (
        Lane(
            "dentries", "Names that the kernel remembers", "1",
            (
                Line("unused", "dentries_unused", "line", of="node"),
                Line("of files that do not exist", "dentries_negative", "area", hot=True, of="node"),
            ),
        ),
        Lane(
            "lookups", "Lookups that found nothing, per tick", "1",
            (Line("failed lookups", "lookup_failures", "bars", hot=True),),
        ),
        _KERNEL_CPU,
        _LATE,
        _RECLAIM,
        Lane("pressure", "Share of the time spent waiting for memory", "ratio", _PRESSURE),
        _MARGIN,
    ),
    "startup": (
        Lane(
            "bpf", "CPUs busy loading eBPF programs", "cpu",
            (Line("loading and verifying", "bpf_load_us", "bars", hot=True, of="node", scale=_CPUS),),
        ),
        _KERNEL_CPU,
        _LATE,
    ),
}  # fmt: skip


def area_of(cause: str) -> Area | None:
    """The lanes that tell a cause's story; None: CPU and DNS do."""
    area = cause.partition("/")[0]
    return area if area in ("memory", "kernel", "startup") else None  # type: ignore[return-value]


def build(
    session: Session, tree: SubjectTree, area: Area | None, from_us: int, to_us: int, points: int
) -> list[Columns]:
    """The contents of schemas.TimelineLane."""
    if area is None:
        return []
    lanes = [_lane(session, tree, lane, from_us, to_us, points) for lane in LANES[area]]
    if area == "startup":
        lanes.insert(0, _pod_start(session, tree.node.id, from_us, to_us))
    return [lane for lane in lanes if lane is not None]


def host_cpu(session: Session, node_id: int, from_us: int, to_us: int) -> FloatArray | None:
    """CPU time of a node a tick (µs): programs, kernel and interrupts. None where it was not measured."""
    names = ("host_user_us", "host_system_us", "host_irq_us")
    found = series.read_series(session, [node_id], names, from_us, to_us)
    return np.sum(list(found.values()), axis=0) if len(found) == len(names) else None


def _lane(session: Session, tree: SubjectTree, lane: Lane, from_us: int, to_us: int, points: int) -> Columns | None:
    start_us = from_us - from_us % TICK_US
    ticks = -(-(to_us - start_us) // TICK_US)
    fold = max(1, -(-ticks // points))
    lines = []
    for line in lane.lines:
        values = _values(session, tree, line, from_us, to_us)
        if values is None:
            continue
        gauge = METRICS[line.metric].kind == "gauge"
        folded = fold_max(_held(values), fold) if gauge else fold_sum(values, fold)
        if lane.unit in ("cpu", "ratio"):  # a rate: the mean of the ticks that there are
            folded = folded / fold_sum(np.where(np.isnan(values), np.nan, 1.0), fold)
        lines.append(_line(line.name, line.style, line.hot, folded * line.scale))
    if not any(np.nan_to_num(line["values"]).any() for line in lines):
        return None
    return {
        "id": lane.id,
        "title": lane.title,
        "unit": lane.unit,
        "t_us": start_us + np.arange(-(-ticks // fold), dtype=np.int64) * (TICK_US * fold),
        "step_us": TICK_US * fold,
        "lines": lines,
        "limits": [] if lane.fact is None else _limits(session, tree.subject.id, lane.fact, from_us, to_us),
    }


def _line(name: str, style: Style, hot: bool, values: FloatArray) -> Columns:
    return {"name": name, "style": style, "hot": hot, "values": values}


def _values(session: Session, tree: SubjectTree, line: Line, from_us: int, to_us: int) -> FloatArray | None:
    ids = {
        "subject": [tree.subject.id],
        "node": [tree.node.id],
        "processes": [row.id for row in tree.processes],
    }[line.of]
    found = list(series.read_series(session, ids, [line.metric], from_us, to_us).values()) if ids else []
    if not found and line.of == "subject" and tree.node.id != tree.subject.id:
        # Where it is not measured of the container, the node's has it too.
        found = list(series.read_series(session, [tree.node.id], [line.metric], from_us, to_us).values())
    if not found:
        return None
    if METRICS[line.metric].kind == "gauge":
        found = [_held(one) for one in found]
    stacked = np.stack(found)
    return np.where(np.isnan(stacked).all(axis=0), np.nan, np.nansum(stacked, axis=0))


def _held(values: FloatArray) -> FloatArray:
    """Each reading until the next one, where that comes about as soon as between others."""
    read = np.flatnonzero(~np.isnan(values))
    usual = float(np.median(np.diff(read))) if len(read) > 1 else 0.0
    hold = 0.0 if usual <= 1 else min(_MOST_HOLD_TICKS, 2 * usual - 1)
    at = np.where(np.isnan(values), -1, np.arange(len(values)))
    last = np.maximum.accumulate(at)
    known = (last >= 0) & (np.arange(len(values)) - last <= hold)
    return np.where(known, values[np.maximum(last, 0)], np.nan)


def _limits(session: Session, subject_id: int, name: str, from_us: int, to_us: int) -> list[Columns]:
    steps: list[Columns] = []
    for fact in inventory.facts(session, [subject_id], from_us, to_us)[subject_id]:
        if fact.name != name:
            continue
        try:
            value: float | None = float(fact.value)
        except ValueError:
            continue
        steps.append({"from_us": max(fact.since_us, from_us), "value": value if value and value > 0 else None})
    return steps


def _pod_start(session: Session, node_id: int, from_us: int, to_us: int) -> Columns | None:
    """Percentiles of the pod starts that each reading of the kubelet brought, against the objective of 5 s."""
    found = series.read_distributions(session, [node_id], _POD_START, from_us, to_us)
    stored = next((found[node_id, name] for name in _POD_START if (node_id, name) in found), None)
    if stored is None or not len(stored.tick):
        return None
    start_us = from_us - from_us % TICK_US
    seen: Sequence[int] = np.unique(stored.tick).tolist()
    readings = [(stored.bucket[stored.tick == tick], stored.count[stored.tick == tick]) for tick in seen]
    lines = []
    for name, quantile in _QUANTILES:
        values = [quantile_us(bucket, count, quantile) for bucket, count in readings]
        lines.append(_line(name, "line", name == "P99", np.array(values, np.float64)))
    return {
        "id": "pod_start",
        "title": "How long pods took to start, without image pulls",
        "unit": "us",
        "t_us": start_us + np.array(seen, np.int64) * TICK_US,
        "step_us": TICK_US,
        "lines": lines,
        "limits": [{"from_us": from_us, "value": _SLO_US}],
    }
