"""Files and programs do not fit into the memory limit beside the rest: their pages are dropped and read again."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.memory.causes import _report as report
from jitterscope.diagnosis.areas.memory.fixes import page_cache
from jitterscope.diagnosis.areas.memory.readings import thrashing
from jitterscope.diagnosis.areas.memory.readings.thrashing import Thrashing
from jitterscope.diagnosis.core import blocked as waits
from jitterscope.diagnosis.core import held_up, impact
from jitterscope.diagnosis.core import late as lateness
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.quantity import impact_of
from jitterscope.diagnosis.core.refaults import NEAR, REFAULTS, read_refaults
from jitterscope.diagnosis.core.served import metric, not_timed
from jitterscope.diagnosis.core.severity import lowered
from jitterscope.diagnosis.core.signals import has
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "memory/page_cache_thrashing"
USAGE = "memory_usage_bytes"
NEEDS = (REFAULTS, USAGE, waits.BLOCKED)


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    found = thrashing.read(snapshot)
    if found is None or not has(found.refaults.owner, USAGE):
        gone = [REFAULTS] if read_refaults(snapshot) is None else []
        gone += [] if found is None or has(found.refaults.owner, USAGE) else [USAGE]
        gone += [waits.BLOCKED] if waits.read_blocked(snapshot) is None else []
        return report.not_enough(ID, gone, snapshot)
    numbers = {
        "refaults": found.refaults.total,
        "blocked_us": found.blocked.hot_us,
        "per_s": found.refaults.per_s(found.blocked.hot, snapshot.step_us),
    }
    if (reason := _not(snapshot, found)) is not None:
        return NotFound(cause=ID, reason=reason, numbers=numbers)
    return _found(snapshot, found)


def _not(snapshot: Snapshot, found: Thrashing) -> str | None:
    """Why it is not pages that are read again; None: it is."""
    refaults, blocked = found.refaults, say.ms(found.blocked.hot_us)
    pages = f"{refaults.total:,.0f} file pages were read again soon after they were dropped"
    if not found.waits:
        return f"{pages}; threads were blocked for {blocked}."
    if not refaults.explains(found.blocked.hot, snapshot.step_us):
        if not np.isfinite(refaults.at_limit):
            return f"{pages}, though threads were blocked for {blocked}."
        if not np.isfinite(refaults.limit_bytes):
            return f"{pages}, without a memory limit of its own: the node drops them."
        if refaults.at_limit < NEAR:
            return f"{pages}, but it uses {say.percent(refaults.at_limit)} of its memory limit: the node drops them."
        per_s = refaults.per_s(found.blocked.hot, snapshot.step_us)
        return f"{pages}, {per_s:,.0f}/s while threads were blocked: too few to explain the waits."
    if not found.harmful:
        late = f"{found.hurt.suffered:,} answers were late meanwhile"
        if found.hurt.severity is not None:
            late = f"{found.held.hits:,} of {found.held.of:,} late answers waited for it"
        return f"{pages}; threads were blocked for {blocked}, and {late}."
    return None


def _confidence(found: Thrashing) -> Confidence:
    told = found.read_bytes is not None and found.again_bytes >= 0.5 * found.read_bytes
    unsure = (
        not found.hurt.timed,
        found.blocked.source == "pressure",
        found.read_bytes is not None and not told,
        found.hurt.timed and found.held.hits < 0.8 * found.held.of,
    )
    return lowered("high", sum(unsure))


def _found(snapshot: Snapshot, found: Thrashing) -> Found:
    ticks, step = np.flatnonzero(found.blocked.hot), snapshot.step_us
    low, high = snapshot.start_us + int(ticks[0]) * step, snapshot.start_us + (int(ticks[-1]) + 1) * step
    hurt, first = found.hurt, found.hurt.first_late_us
    late = f"answers after up to {hurt.max_ms:,.0f} ms" if hurt.max_ms else "waits for its own files"
    harmed = (
        f"{hurt.inside:,} of {hurt.queries:,.0f} {hurt.served.noun} took {hurt.over} while threads waited for pages."
        f"{lateness.allowance(hurt.limits)}"
        if hurt.timed
        else not_timed(hurt.served)
    )
    limit = say.mebibytes(found.refaults.limit_bytes)
    cached = f", {say.mebibytes(found.cached_bytes)} of it page cache" if np.isfinite(found.cached_bytes) else ""
    blocked = {waits.BLOCKED_MS: float(np.nansum(found.blocked.waited_us)) / 1000}
    return Found(
        cause=ID,
        score=round(0.55 + 0.25 * min(1.0, found.held.hits / max(1, found.held.of)) + 0.2 * hurt.timed, 4),
        confidence=_confidence(found),
        severity=hurt.severity,
        harm=hurt.harm,
        title=f"{say.who(snapshot)} {late}: {say.mebibytes(found.again_bytes)} of files were read again, because its "
        f"memory limit of {limit} cannot hold them",
        summary=f"{harmed} It is at its limit of {limit}{cached}. Reading one file drops the pages of another, and the "
        f"next request reads those again: {found.refaults.total:,.0f} pages in this window. Nothing is killed, and "
        "memory only looks fully used.",
        onset_us=low if first is None or not low <= first < high else first,
        last_us=high,
        impact=impact.of_harm(snapshot, hurt)
        | impact.of_cpu(snapshot)
        | (impact_of(blocked) if found.blocked.source == "blocked" else {}),
        evidence=_evidence(snapshot, found, (int(ticks[0]), int(ticks[-1]) + 1)),
    )


def _evidence(snapshot: Snapshot, found: Thrashing, ticks: tuple[int, int]) -> list[Evidence]:
    refaults, held = found.refaults, found.held
    per_s = refaults.per_s(found.blocked.hot, snapshot.step_us)
    items = [
        Evidence(
            id="refaults",
            statement="File pages read again soon after they were dropped",
            value=f"{refaults.total:,.0f}",
            comparison=f"{per_s:,.0f}/s while threads were blocked",
            numbers={"pages": refaults.total, "per_s": per_s, "bytes": found.again_bytes},
            series=report.refs(snapshot, *ticks, (refaults.owner,), REFAULTS, "memory_major_faults"),
        ),
        Evidence(
            id="at_limit",
            statement="Memory in use at that time, share of the limit",
            value=say.percent(refaults.at_limit),
            comparison=f"of {say.mebibytes(refaults.limit_bytes)}",
            numbers={"ratio": refaults.at_limit, "limit_bytes": refaults.limit_bytes},
            series=report.refs(
                snapshot, *ticks, (refaults.owner,), "memory_usage_bytes", "memory_file_bytes", "memory_limit_hits"
            ),
        ),
        Evidence(
            id="blocked",
            statement="Time that threads were blocked in the kernel, in ticks with over 10 ms of it",
            value=say.seconds(found.blocked.hot_us),
            numbers={"blocked_us": found.blocked.hot_us},
            series=report.refs(snapshot, *ticks, found.blocked.views, found.blocked.metric, waits.IN_IO),
        ),
    ]
    if held.of:
        items.append(
            Evidence(
                id="held_up",
                statement=f"Late answers during which threads were blocked for at least "
                f"{say.percent(held_up.HELD_UP)} of the time",
                value=f"{held.hits:,} of {held.of:,}",
                comparison=held.contrast,
                numbers=held.numbers,
                series=[one for server in found.hurt.served.servers
                        for one in report.refs(snapshot, *ticks, (server,), metric(server, "slow"))],
            )
        )  # fmt: skip
    return items


def _shown(snapshot: Snapshot) -> bool:
    views = [view for view in (snapshot.subject, *snapshot.ancestors) if REFAULTS in view.series]
    return any(float(np.nansum(view.series[REFAULTS])) > 0 for view in views) and held_up.slow_or_untimed(snapshot)


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    read = thrashing.read(snapshot)
    return [] if read is None else page_cache.propose(snapshot, found, read)


CAUSE = Cause(
    id=ID,
    title="The page cache thrashes",
    summary="The files and programs in use do not fit into the memory limit, so their pages are read from disk again "
    "and again.",
    mechanism="Files that a process reads stay in memory as page cache and count against the limit of its cgroup, and "
    "so do the pages of its program. At the limit, each page that is read evicts another. If the pages in use are "
    "larger than the memory that is left for them, each request reads from disk what an earlier one had already read, "
    "and waits for it. The kernel counts pages that come back soon (workingset_refault). Found where a cgroup at its "
    "limit refaults many pages while its threads are blocked, and the late answers are those that waited.",
    needs=NEEDS,
    rivals=("io/disk_stall", "memory/reclaim_stall", "memory/limit_oom"),
    detect=detect,
    propose=propose,
    false_positives=(
        "A job that reads large files once also refaults, while requests wait for something else on the disk.",
    ),
    references=(
        "https://docs.kernel.org/admin-guide/cgroup-v2.html#memory",
        "https://docs.kernel.org/mm/multigen_lru.html",
        "https://lwn.net/Articles/495543/",
    ),
    signs=Signs((REFAULTS, *held_up.SIGNS), _shown),
    of_pods=True,
)
