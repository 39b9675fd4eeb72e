"""Threads of the server wait for a disk: a slow or shared one, or one that the server's own limit keeps it from."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.io.causes import _report as report
from jitterscope.diagnosis.areas.io.fixes import disks, limits, program
from jitterscope.diagnosis.areas.io.readings.limits import limits_known
from jitterscope.diagnosis.areas.io.readings.stalls import DiskStall, read_stall
from jitterscope.diagnosis.core import blocked as waits
from jitterscope.diagnosis.core import harm, held_up, missing_data
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.harm import AnswersHarm
from jitterscope.diagnosis.core.held_up import HeldUp
from jitterscope.diagnosis.core.refaults import read_refaults
from jitterscope.diagnosis.core.served import read_served
from jitterscope.diagnosis.core.severity import lowered
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "io/disk_stall"
NEEDS = (waits.BLOCKED,)
# Less waiting than this in all holds nobody up for long.
LEAST_US = 200_000
# Where nobody times answers, only waiting that takes so much of the time is told, as a risk.
UNTIMED_US, UNTIMED_SHARE = 2_000_000, 0.3


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    stall = read_stall(snapshot)
    if stall is None:
        return missing_data.not_enough(ID, [*NEEDS], snapshot)
    found = stall.blocked
    numbers = {"blocked_us": found.hot_us, "limit_held": stall.held}
    if found.hot_us < LEAST_US:
        return NotFound(
            cause=ID,
            reason=f"Threads were blocked in the kernel for {say.ms(found.hot_us)} in ticks with over "
            f"{say.ms(waits.WAIT_US)} of it.",
            numbers=numbers,
        )
    if (again := _reads_again(snapshot, stall)) is not None:
        return NotFound(cause=ID, reason=again, numbers=numbers)
    if stall.why is None:
        if stall.disk is None:
            return missing_data.not_enough(ID, ["disk_busy_us"], snapshot)
        return NotFound(cause=ID, reason=_no_disk(stall), numbers=numbers)
    spans = held_up.apart(snapshot, found.hot)
    late_us = held_up.late_us(snapshot, spans)
    hurt = harm.harm(snapshot, spans, late_us, served=read_served(snapshot))
    held = held_up.held_up(snapshot, found.waited_us, late_us)
    if (reason := _harmless(snapshot, stall, hurt, held)) is not None:
        return NotFound(cause=ID, reason=reason, numbers=numbers | {"held_up": float(held.hits), "of": float(held.of)})
    return _found(snapshot, stall, hurt, held)


def _reads_again(snapshot: Snapshot, stall: DiskStall) -> str | None:
    """Why it is not the disk but a memory limit that makes it read; None: it is not that."""
    refaults = read_refaults(snapshot)
    if refaults is None or not refaults.explains(stall.blocked.hot, snapshot.step_us):
        return None
    return (
        f"Threads were blocked for {say.ms(stall.blocked.hot_us)} while {refaults.total:,.0f} pages were read again "
        f"that its memory limit had evicted: it uses {say.percent(refaults.at_limit)} of that limit."
    )


def _no_disk(stall: DiskStall) -> str:
    disk = stall.disk
    assert disk is not None
    blocked = f"Threads were blocked for {say.ms(stall.blocked.hot_us)}"
    name = f"its disk {disk.name}" if disk.own else "the node's busiest disk"
    took = f" with {say.ms(disk.request_us)} per request" if np.isfinite(disk.request_us) else " with no requests"
    limit = f", and its I/O limit throttled it for {say.percent(stall.held)} of that time" if stall.limit else ""
    return f"{blocked}, but {name} was busy {say.percent(disk.busy)} of that time{took}{limit}."


def _harmless(snapshot: Snapshot, stall: DiskStall, hurt: AnswersHarm, held: HeldUp) -> str | None:
    """Why waiting is not the trouble of those who are served; None: it is, or nobody knows."""
    blocked = f"Threads were blocked for {say.ms(stall.blocked.hot_us)}"
    if not hurt.timed:
        share = float(stall.blocked.hot.mean())
        if stall.blocked.hot_us >= UNTIMED_US and share >= UNTIMED_SHARE:
            return None
        return f"{blocked}, in {say.percent(share)} of the ticks."
    if hurt.severity is None:
        return f"{blocked}, and meanwhile {hurt.suffered:,} answers were late."
    if not held.apart:
        return (
            f"{blocked}, for at least {say.percent(held_up.HELD_UP)} of the time of {held.hits:,} of {held.of:,} late "
            f"answers. This does not distinguish them from other answers ({held.contrast})."
        )
    return None


def _confidence(snapshot: Snapshot, stall: DiskStall, hurt: AnswersHarm, held: HeldUp) -> Confidence:
    unsure = [
        not hurt.timed,
        stall.blocked.source == "pressure",
        stall.why == "disk" and not (stall.disk and stall.disk.own),
        stall.why == "disk" and not limits_known(snapshot),
        stall.why == "limit" and stall.limit is not None and stall.limit.owner is not snapshot.subject,
        hurt.timed and held.hits < 0.8 * held.of,
        read_refaults(snapshot) is None,
    ]
    return lowered("high", sum(unsure))


def _found(snapshot: Snapshot, stall: DiskStall, hurt: AnswersHarm, held: HeldUp) -> Found:
    low, high = report.extent(snapshot, stall)
    first = hurt.first_late_us
    return Found(
        cause=ID,
        score=round(0.5 + 0.3 * min(1.0, held.hits / max(1, held.of)) + 0.2 * (hurt.severity is not None), 4),
        confidence=_confidence(snapshot, stall, hurt, held),
        severity=hurt.severity,
        harm=hurt.harm,
        title=report.title(snapshot, stall, hurt),
        summary=report.summary(snapshot, stall, hurt),
        onset_us=low if first is None or not low <= first < high else first,
        last_us=high,
        impact=report.impact(snapshot, stall, hurt),
        evidence=report.evidence(snapshot, stall, hurt, held),
    )


def _shown(snapshot: Snapshot) -> bool:
    """Threads were blocked for long, and answers were late, or nobody times them."""
    blocked = waits.read_blocked(snapshot)
    return blocked is not None and blocked.hot_us >= LEAST_US and held_up.slow_or_untimed(snapshot)


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    stall = read_stall(snapshot)
    if stall is None:
        return []
    proposed = [
        limits.propose(snapshot, found, stall),
        disks.limit_other(snapshot, found, stall),
        disks.faster(snapshot, found, stall),
        program.propose(snapshot, found, stall),
    ]
    return [fix for fix in proposed if fix is not None]


CAUSE = Cause(
    id=ID,
    title="Threads wait for a disk",
    summary="Threads that serve requests wait for a disk, or for the I/O limit on it.",
    mechanism="A thread that reads data that is not in memory, writes faster than the disk can take, or waits for "
    "fsync is blocked in the kernel until the disk is done. Its requests wait as long, and so do those that wait for "
    "a lock it holds. An I/O limit of the cgroup (io.max, blkio.throttle) delays the start of requests: the disk "
    "itself looks idle. A slow or crowded disk takes long for each request. Found where threads were blocked during "
    "the late answers and meanwhile a limit throttled requests or the disk was slow.",
    needs=NEEDS,
    rivals=("memory/page_cache_thrashing", "memory/reclaim_stall", "cpu/limit_too_low"),
    detect=detect,
    propose=propose,
    false_positives=(
        "Network file systems block threads in the same state. No disk of the node is busy then, and this cause is "
        "not reported.",
        "If the disk that a server uses is not known, the busiest disk of the node stands in for it.",
    ),
    references=(
        "https://docs.kernel.org/admin-guide/cgroup-v2.html#io",
        "https://docs.kernel.org/admin-guide/iostats.html",
        "https://man7.org/linux/man-pages/man2/fsync.2.html",
    ),
    looks_like_freezes=True,
    signs=Signs((*held_up.SIGNS, *waits.SIGNS), _shown),
)
