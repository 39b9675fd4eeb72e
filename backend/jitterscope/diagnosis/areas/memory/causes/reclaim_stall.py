"""Tasks wait while the kernel takes memory back for them."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.memory.causes import _report as report
from jitterscope.diagnosis.areas.memory.fixes import reclaim
from jitterscope.diagnosis.areas.memory.readings import reclaim as memory_reclaim
from jitterscope.diagnosis.areas.memory.readings import signals as memory_signals
from jitterscope.diagnosis.areas.memory.readings import thrashing
from jitterscope.diagnosis.areas.memory.readings.oom import Alarm, of_growth
from jitterscope.diagnosis.areas.memory.readings.reclaim import Reclaim
from jitterscope.diagnosis.core import harm as answers_harm
from jitterscope.diagnosis.core import impact
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound, Severity
from jitterscope.diagnosis.core.harm import AnswersHarm
from jitterscope.diagnosis.core.served import metrics, read_served
from jitterscope.diagnosis.core.severity import harm_of
from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.slow import limits, loosest_us
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "memory/reclaim_stall"
NEEDS = ("psi_memory_some_us",)
# Waiting of this length in all is an incident where not all that waits is timed: on a node, or without a timed server.
WARNING_S = 0.5


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    found = memory_reclaim.read(snapshot)
    if isinstance(found, str):
        return report.not_enough(ID, [found], snapshot)
    if (reason := _not(snapshot, found)) is not None:
        return reason
    return _found(snapshot, found)


def _not(snapshot: Snapshot, found: Reclaim) -> NotFound | None:
    """Why it is not reclaim that makes tasks wait, or another cause says it better."""
    waited, ticks = found.waited_s, int(found.hot.sum())
    numbers = {"waited_s": waited, "ticks": float(ticks)}
    if ticks < memory_reclaim.LEAST_TICKS or waited < memory_reclaim.LEAST_S:
        return NotFound(
            cause=ID, reason=f"Tasks waited {waited:.2f} s for memory while it was reclaimed.", numbers=numbers
        )
    if (freed := memory_reclaim.names_freed(snapshot, found)) is not None:
        return NotFound(
            cause=ID,
            reason=f"The kernel reclaimed {freed:,.0f} dentries and inodes, not pages.",
            numbers=numbers | {"dentries_freed": freed},
        )
    memory = found.memory
    if memory is None:
        return None
    if memory.kills.sum() > 0:
        return NotFound(
            cause=ID,
            reason=f"It ended in {say.count(float(memory.kills.sum()), 'kill')}: memory was full, and nothing "
            "reclaimable was left.",
            numbers=numbers | {"kills": float(memory.kills.sum())},
        )
    if thrashing.explains(snapshot):
        return NotFound(
            cause=ID,
            reason=f"It waited {waited:.1f} s for file pages that its limit had evicted and that it reads again.",
            numbers=numbers,
        )
    if not memory_reclaim.at_own_limit(found):
        used, limit = float(memory.usage[memory.known]), memory.limit_bytes
        share = f"{say.percent(used / limit)} of its limit" if np.isfinite(limit) else "without a limit"
        return NotFound(
            cause=ID,
            reason=f"It waited {waited:.1f} s, but reclaims for the node: it uses {say.mebibytes(used)}, {share}.",
            numbers=numbers | {"used_bytes": used},
        )
    life = memory_signals.lives(memory)[-1]
    rise = memory_signals.growth(memory.net, life, snapshot.step_us)
    # Growth of page cache that was not recorded looks the same.
    known = bool(np.isfinite(memory.file).any())
    if known and rise is not None and isinstance(of_growth(snapshot, memory, rise, memory.limit_bytes), Alarm):
        return NotFound(
            cause=ID,
            reason=f"Unreclaimable memory grows by {report.per_second(rise.rate)} up to the limit.",
            numbers=numbers | {"rate_bytes_per_s": rise.rate},
        )
    return None


def _found(snapshot: Snapshot, found: Reclaim) -> Found:
    hot = np.flatnonzero(found.hot)
    onset = snapshot.start_us + int(hot[0]) * snapshot.step_us
    hurt = _harm(snapshot, found)
    severity: Severity | None = hurt.severity
    timed = hurt.timed and found.where == "cgroup"
    if not timed and severity in (None, "info") and found.waited_s >= WARNING_S:
        severity = "warning"
    return Found(
        cause=ID,
        score=round(min(0.85, 0.5 + 0.05 * found.waited_s + 0.2 * found.ratio(snapshot.step_us)), 4),
        confidence=_confidence(found),
        severity=severity,
        harm=harm_of(severity, known=timed and hurt.served.all_timed),
        title=_title(snapshot, found, hurt),
        summary=_summary(snapshot, found),
        onset_us=onset,
        last_us=snapshot.start_us + int(hot[-1] + 1) * snapshot.step_us,
        impact=impact.of_harm(snapshot, hurt),
        evidence=_evidence(snapshot, found, hurt),
    )


def _harm(snapshot: Snapshot, found: Reclaim) -> AnswersHarm:
    late_us = loosest_us(limits(snapshot, snapshot.dns_servers, ~found.hot))
    return answers_harm.harm(snapshot, found.hot, late_us, served=read_served(snapshot))


def _confidence(found: Reclaim) -> Confidence:
    if found.direct[found.hot].sum() >= 20 and found.waited_s >= 1:
        return "high"
    return "medium" if found.waited_s >= 0.5 else "low"


def _title(snapshot: Snapshot, found: Reclaim, hurt: AnswersHarm) -> str:
    share = say.percent(found.ratio(snapshot.step_us))
    late = f", and {hurt.inside:,} answers came late" if hurt.inside else ""
    if found.where == "node":
        name = snapshot.node.name or "The node"
        return f"{name} reclaims memory too late: tasks waited {found.waited_s:.1f} s for it, {share} of the time{late}"
    what = "memory.high" if found.watermark == "high" else "its memory limit"
    return (
        f"{say.who(snapshot)} runs at {what}: tasks waited {found.waited_s:.1f} s for memory, {share} of the time{late}"
    )


def _summary(snapshot: Snapshot, found: Reclaim) -> str:
    times = f"{found.direct[found.hot].sum():,.0f} times"
    if found.where == "node":
        text = (
            f"kswapd did not keep memory free in time, so allocating tasks had to reclaim memory themselves {times} "
            f"and, together with kswapd, scanned {found.pages[found.hot].sum():,.0f} pages for it."
        )
        if (fills := memory_reclaim.fills_per_s(snapshot, found)) is not None:
            text += f" Before that, free memory fell by up to {report.per_second(fills)}."
        return text
    memory = found.memory
    assert memory is not None
    used, file = float(memory.usage[found.hot].max()), float(np.nan_to_num(memory.file)[found.hot].max())
    of = f" of {say.mebibytes(memory.limit_bytes)}" if np.isfinite(memory.limit_bytes) else ""
    return (
        f"Usage is {say.mebibytes(used)}{of}, {say.mebibytes(file)} of it page cache. Each allocation first has to "
        f"reclaim some of it, which happened {times}. Nothing is killed while page cache is left, but tasks wait, and "
        "dropped pages are read again."
    )


def _evidence(snapshot: Snapshot, found: Reclaim, hurt: AnswersHarm) -> list[Evidence]:
    hot = np.flatnonzero(found.hot)
    first, last = int(hot[0]), int(hot[-1]) + 1
    step = snapshot.step_us
    direct = ("vm_alloc_stalls", "vm_scan_direct_pages") if found.where == "node" else (
        "memory_high_events", "memory_limit_hits", "memory_reclaim_scanned_pages")  # fmt: skip
    items = [
        Evidence(
            id="pressure",
            statement="Time in which at least one task waited for memory reclaim",
            value=f"{found.waited_s:.2f} s",
            comparison=f"{say.percent(found.ratio(step))} of {say.count(len(hot), 'tick')} of {step // 1000} ms",
            numbers={"waited_s": found.waited_s, "ticks": float(len(hot)), "ratio": found.ratio(step)},
            series=report.refs(snapshot, first, last, (found.view,), "psi_memory_some_us", "psi_memory_full_us"),
        ),
        Evidence(
            id="direct_reclaim",
            statement="Direct reclaims",
            value=f"{found.direct[found.hot].sum():,.0f}",
            comparison=f"{found.direct[~found.hot].sum():,.0f} in all other ticks",
            numbers={"hot": float(found.direct[found.hot].sum()), "other": float(found.direct[~found.hot].sum()),
                     "pages": float(found.pages[found.hot].sum())},
            series=report.refs(snapshot, first, last, (found.view,), *direct),
        ),
    ]  # fmt: skip
    if found.where == "node" and has(snapshot.node, "vm_low_margin_bytes"):
        margin = series(snapshot.node, "vm_low_margin_bytes", snapshot.ticks)
        inside = margin[found.hot]
        if np.isfinite(inside).any():
            low = float(np.nanmin(inside))
            items.append(
                Evidence(
                    id="low_margin",
                    statement="Free memory above the low watermark, minimum",
                    value=say.mebibytes(low),
                    comparison=f"maximum: {say.mebibytes(float(np.nanmax(margin)))}",
                    numbers={"bytes": low, "most_bytes": float(np.nanmax(margin))},
                    series=report.refs(snapshot, first, last, (snapshot.node,), "vm_low_margin_bytes"),
                )
            )
    if hurt.late:
        chance = float(found.hot.mean())
        items.append(
            Evidence(
                id="slow_in_stalls",
                statement="Late answers that waited during these ticks",
                value=f"{hurt.inside:,} of {hurt.late:,}",
                comparison=f"by chance: {say.percent(chance)}",
                numbers={"hits": float(hurt.inside), "of": float(hurt.late), "chance_ratio": chance},
                series=report.refs(snapshot, first, last, hurt.served.servers, *metrics("slow")),
            )
        )
    return items


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    read = memory_reclaim.read(snapshot)
    return [] if isinstance(read, str) else reclaim.propose(snapshot, read)


CAUSE = Cause(
    id=ID,
    title="Memory reclaim stalls tasks",
    summary="Free memory runs out faster than kswapd reclaims it, so tasks that allocate reclaim it themselves and "
    "wait.",
    mechanism="kswapd starts to reclaim when free memory falls below the low watermark. At the min watermark, "
    "allocating tasks reclaim memory themselves (direct reclaim), for milliseconds to seconds. A burst of allocations "
    "that takes free memory from low to min before kswapd catches up makes them wait although most memory is page "
    "cache. A cgroup has no kswapd: at its memory.high or limit every task reclaims for itself. Pressure (PSI) "
    "measures the waiting; allocstall and the cgroup's events count the reclaims.",
    needs=NEEDS,
    rivals=(
        "memory/limit_oom",
        "memory/page_cache_thrashing",
        "io/disk_stall",
        "kernel/dentry_reclaim_contention",
    ),
    detect=detect,
    propose=propose,
    false_positives=("A batch job that reads files through a small limit waits by design, without harm to others.",),
    references=(
        "https://docs.kernel.org/admin-guide/sysctl/vm.html#watermark-scale-factor",
        "https://docs.kernel.org/accounting/psi.html",
        "https://docs.kernel.org/admin-guide/cgroup-v2.html#memory",
    ),
    subjects=("cgroup", "node"),
    signs=Signs(NEEDS, memory_reclaim.may_wait),
    of_pods=True,
)
