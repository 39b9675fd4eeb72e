"""Millions of negative dentries are held, nothing bounds them, and the next unmount or reclaim pays for them."""

from __future__ import annotations

from jitterscope.diagnosis.areas.kernel.fixes import dentries as fixes
from jitterscope.diagnosis.areas.kernel.readings import dentry_report as report
from jitterscope.diagnosis.areas.kernel.readings import kernel_memory
from jitterscope.diagnosis.areas.kernel.readings.dentry_growth import PAUSE_S, growth
from jitterscope.diagnosis.areas.kernel.readings.dentry_stalls import stalls
from jitterscope.diagnosis.areas.kernel.whatif import dentry_drop
from jitterscope.diagnosis.areas.kernel.whatif.dentry_drop import Pause
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import dentry_limits
from jitterscope.diagnosis.programs.dentry_limits import Limit

ID = "kernel/negative_dentry_limit_missing"
NEEDS = ("dentries_negative",)
_LEAST, _MEMORY_RATIO = 1_000_000.0, 0.05


def _many(snapshot: Snapshot) -> bool:
    return kernel_memory.read(snapshot).negative_now >= _LEAST


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    if gone := kernel_memory.missing(snapshot, NEEDS):
        return kernel_memory.not_enough(ID, gone, snapshot)
    dentries = kernel_memory.read(snapshot)
    held, size = dentries.negative_now, dentries.negative_now * kernel_memory.bytes_each(dentries)
    numbers = {"negative": held, "bytes": size}
    pause = dentry_drop.predict(snapshot, held)
    large = held >= _LEAST and (
        (pause is not None and pause.seconds.expected >= PAUSE_S)
        or size >= _MEMORY_RATIO * kernel_memory.memory_bytes(snapshot)
    )
    if not large:
        return NotFound(cause=ID, reason=f"Only {held:,.0f} negative dentries.", numbers=numbers)
    limit = dentry_limits.limit_of(snapshot)
    if limit.is_set:
        return NotFound(
            cause=ID, reason=f"fs.{limit.knob} is {limit.value:g}.", numbers=numbers | {"limit": limit.value or 0.0}
        )
    if (grown := growth(snapshot)) is not None:
        return NotFound(
            cause=ID,
            reason=f"They grow by {grown.rate:,.0f}/s now, which is a separate finding.",
            numbers=numbers | {"per_second": grown.rate},
        )
    if stalls(snapshot)[0]:
        return NotFound(cause=ID, reason=f"Freeing some of the {held:,.0f} already stalled the node.", numbers=numbers)
    if not limit.known:
        return kernel_memory.not_enough(ID, ["node.dentry_limit"], snapshot)
    return _found(snapshot, held, size, pause, limit)


def _found(snapshot: Snapshot, held: float, size: float, pause: Pause | None, limit: Limit) -> Found:
    stall = ""
    if pause is not None:
        stall = f": the next unmount, pod deletion or reclaim can stall the node for {report.span(pause.seconds)}"
    evidence = [report.stock(snapshot, held, size)]
    if (predicted := report.pause_evidence(snapshot, pause)) is not None:
        evidence.append(predicted)
    evidence.append(
        Evidence(
            id="limit",
            statement="The kernel's limit on negative dentries",
            value="off" if limit.knob is not None else "this kernel has none",
            comparison=f"fs.{limit.knob} = {limit.value or 0:g}" if limit.knob is not None else None,
            numbers={"limit": limit.value or 0.0},
        )
    )
    return Found(
        cause=ID,
        score=0.3,
        confidence="high",
        severity=None,
        harm="predicted",
        title=f"{held:,.0f} negative dentries and no limit{stall}",
        summary="Not growing now. They stay until their file system is unmounted, memory runs short, or they are "
        "dropped manually. Freeing them all at once then takes kernel time.",
        onset_us=snapshot.start_us,
        last_us=snapshot.end_us,
        impact={},
        evidence=evidence,
    )


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    pause = dentry_drop.predict(snapshot, kernel_memory.read(snapshot).negative_now)
    negative = kernel_memory.read(snapshot).negative_now
    proposals = [
        fixes.drop_caches(snapshot), fixes.dentry_limit(snapshot, pause), fixes.cache_pressure(snapshot, negative)
    ]  # fmt: skip
    return [fix for fix in proposals if fix is not None]


CAUSE = Cause(
    id=ID,
    title="No limit on negative dentries",
    summary="A risk: millions of names that do not exist are cached, and the kernel either has no limit for them or "
    "the limit is off.",
    mechanism="Upstream Linux limits negative dentries by free memory alone. A node with a lot of memory collects tens "
    "of millions before reclaim begins, which then frees them all. RHEL 7.8 and 8.10 have a limit, off by default. "
    "Elsewhere only a drop at a quiet time helps.",
    needs=NEEDS,
    rivals=("kernel/negative_dentry_growth",),
    detect=detect,
    propose=propose,
    false_positives=(
        "A file server whose clients look up the same missing names repeatedly: negative dentries save time there.",
    ),
    references=(dentry_limits.RHEL_7, dentry_limits.RHEL_8, dentry_limits.UPSTREAM),
    subjects=("node",),
    signs=Signs(NEEDS, _many),
)
