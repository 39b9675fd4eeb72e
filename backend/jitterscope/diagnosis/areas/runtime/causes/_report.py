"""Evidence that answers waited in pauses, and that these were the collector's own."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.runtime.readings.pauses import LONG_US, Pauses
from jitterscope.diagnosis.core import references
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Evidence, SeriesRef
from jitterscope.diagnosis.core.gc import Cycles
from jitterscope.diagnosis.core.harm import AnswersHarm
from jitterscope.diagnosis.core.served import metric, read_served
from jitterscope.diagnosis.core.signals import read_cpu
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot


def time_in_pauses(snapshot: Snapshot, pauses: Cycles, late_us: float) -> float | None:
    """Share of the time of the slow answers that met a pause which passed in pauses; None without single answers."""
    inside = whole = 0.0
    for server in read_served(snapshot).servers:
        queries = server.queries
        if queries is None or not len(queries.sent_us):
            continue
        slow = queries.latency_us > late_us
        begin, end = queries.sent_us[slow], queries.sent_us[slow] + queries.latency_us[slow]
        met = np.zeros(len(begin), dtype=np.float64)
        for low, high in zip(pauses.start_us.tolist(), pauses.end_us.tolist(), strict=True):
            met += np.maximum(0, np.minimum(end, high) - np.maximum(begin, low))
        inside += float(met.sum())
        whole += float((end - begin)[met > 0].sum())
    return inside / whole if whole > 0 else None


def evidence(snapshot: Snapshot, found: Pauses, hurt: AnswersHarm, share: float | None) -> list[Evidence]:
    own, process = found.own, found.process.view
    length = (own.end_us - own.start_us).astype(np.float64)
    chance = float(length.sum()) / (snapshot.ticks * snapshot.step_us)
    servers = hurt.served.servers
    items = [
        Evidence(
            id="pauses",
            statement=f"GC pauses over {say.ms(LONG_US)}: count, median, longest",
            value=f"{len(own)}, {say.ms(float(np.median(length)))}, {say.ms(float(length.max()))}",
            comparison=_collectors(own) or f"of {say.count(found.count, 'pause')} in all",
            numbers={
                "pauses": float(len(own)),
                "median_us": float(np.median(length)),
                "longest_us": float(length.max()),
                "of": float(found.count),
            },
            series=refs(snapshot, own, (process, "gc_pause_us"), (process, "gc_active_us")),
        ),
        Evidence(
            id="slow_in_pauses",
            statement="Slow answers that waited in one of these pauses",
            value=f"{hurt.inside:,} of {hurt.late:,}",
            comparison=f"the pauses take {say.percent(chance)} of the time",
            numbers={"hits": float(hurt.inside), "of": float(hurt.late), "chance_ratio": chance},
            series=refs(snapshot, own, *((server, metric(server, "slow")) for server in servers)),
        ),
        _throttled(snapshot, found),
    ]
    if share is not None:
        items.append(
            Evidence(
                id="time_in_pauses",
                statement="Share of the time of these answers that was spent in pauses",
                value=say.percent(share),
                numbers={"time_ratio": share},
                series=refs(snapshot, own, *((server, metric(server, "latency")) for server in servers)),
            )
        )
    if found.cpu_known:
        items.append(_worked(snapshot, found))
    return items


def _throttled(snapshot: Snapshot, found: Pauses) -> Evidence:
    cpu = read_cpu(snapshot)
    hit = found.held_by("throttled")
    return Evidence(
        id="not_throttled",
        statement="Long pauses that overlap a throttled period",
        value=f"{hit} of {len(found.long)}",
        comparison="no CPU limit" if not np.isfinite(cpu.limit) else f"limit: {cpu.limit:g} CPU",
        numbers={"throttled": float(hit), "of": float(len(found.long))},
        series=refs(snapshot, found.own, (cpu.owner, "cpu_throttled_periods")),
    )


def _worked(snapshot: Snapshot, found: Pauses) -> Evidence:
    """CPU time in the pauses: it shows that the collector ran, and on how many CPUs."""
    worked, pause = found.own_cpu_us, float((found.own.end_us - found.own.start_us).sum())
    return Evidence(
        id="collector_cpu",
        statement="CPU time used by the process in these pauses / their length",
        value=f"{say.seconds(worked)} / {say.seconds(pause)}",
        comparison=f"{worked / max(1.0, pause):.1f} CPU",
        numbers={"worked_us": worked, "pause_us": pause},
        series=refs(snapshot, found.own, (found.process.view, "process_cpu_us")),
    )


def _collectors(pauses: Cycles) -> str:
    names, counts = np.unique(pauses.collector[pauses.collector != ""], return_counts=True)
    return ", ".join(f"{count} of {name}" for name, count in zip(names.tolist(), counts.tolist(), strict=True))


def refs(snapshot: Snapshot, pauses: Cycles, *wanted: tuple[ResourceView, str]) -> list[SeriesRef]:
    """References to those that were recorded, from the first pause to the last."""
    low = max(snapshot.start_us, int(pauses.start_us.min()))
    high = min(snapshot.end_us, max(int(pauses.end_us.max()), low + 1))
    return [one for view, name in wanted for one in references.recorded((low, high), (view,), name)]
