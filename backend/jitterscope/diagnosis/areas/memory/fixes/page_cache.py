"""Fixes for files that do not fit into the memory limit: a limit that holds them, or less to hold."""

from __future__ import annotations

import math

from jitterscope.diagnosis.areas.memory.fixes import patches as patches_memory
from jitterscope.diagnosis.areas.memory.readings.thrashing import Thrashing
from jitterscope.diagnosis.core import predicted
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix, Found, predictions
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen, Unseen
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import Snapshot

CGROUP = "https://docs.kernel.org/admin-guide/cgroup-v2.html#memory"
LIMITS = "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"
FADVISE = "https://man7.org/linux/man-pages/man2/posix_fadvise.2.html"
VERIFY = (
    "Watch this incident: before and after are compared, and it closes as verified once slow answers are gone. By "
    "hand: workingset_refault_file in memory.stat hardly rises."
)
RAISE = "raise_memory_limit_for_files"
MEASURES = ("slow_ratio", "blocked_ms_per_min", "refaults_per_min")
# A tenth of what was read again is left free.
MARGIN = 1.1


def propose(snapshot: Snapshot, found: Found, read: Thrashing) -> list[Fix]:
    return [*_raise(snapshot, found, read), _less(read)]


def _raise(snapshot: Snapshot, found: Found, read: Thrashing) -> list[Fix]:
    """Room for all that was read again in the window, where that is known; twice the limit otherwise."""
    limit = read.refaults.limit_bytes
    if not math.isfinite(limit):
        return []
    # Each page was read again once at least: no more than this is missing for what was used in the window.
    known = MARGIN * read.again_bytes <= limit
    wanted = limit + MARGIN * read.again_bytes if known else 2 * limit
    allowed = patches_memory.within_node(snapshot, wanted, limit)
    if allowed is None:
        return [patches_memory.beyond_node(snapshot, RAISE, limit, VERIFY, [LIMITS, CGROUP])]
    is_capped, wanted = allowed < wanted, allowed
    texts, undo = patches_memory.memory_limit(snapshot, read.refaults.owner, wanted, limit)
    why = (
        f"{say.mebibytes(read.again_bytes)} was read again in this window. With that much more and a tenth to spare, "
        "everything it used stays in memory."
        if known
        else f"{say.mebibytes(read.again_bytes)} was read again, many pages more than once. The size of the files in "
        "use cannot be measured at the limit, so start with twice the limit."
    )
    if is_capped:
        known = False
        why = f"{say.mebibytes(read.again_bytes)} was read again in this window. {patches_memory.capped(snapshot)}"
    caveats = ["A program that reads more than fits rereads it under any limit: compare with the size of its files."]
    caveats += patches_memory.caveats(snapshot, wanted, limit)
    left = predicted.remaining(found, "held_up", 0.0, 0.1, 0.5) if known else None
    return [
        Fix(
            id=RAISE,
            title=f"Raise the memory limit from {say.mebibytes(limit)} to {patches_memory.mebibytes(wanted)} MiB",
            summary=why,
            verdict="removes" if known else "reduces",
            predicted=predictions(slow_ratio=left),
            patches=texts,
            caveats=caveats,
            verify=VERIFY,
            undo=undo,
            references=[LIMITS, CGROUP],
        )
    ]


def _less(read: Thrashing) -> Fix:
    return Fix(
        id="less_page_cache",
        title="Use less memory outside the page cache, or smaller files",
        summary="Memory that the program itself allocates leaves less room for its files: use a smaller heap or cache. "
        "Files that are read once, such as a backup or a log, can be dropped right away (POSIX_FADV_DONTNEED) or "
        "bypass the page cache (O_DIRECT), so that they do not evict pages that are used again.",
        verdict="reduces",
        precondition="Works only if the program or its settings can be changed.",
        caveats=[],
        verify=VERIFY,
        undo="Revert the change.",
        references=[FADVISE],
    )


def _raised(before: Facts, after: Facts) -> bool:
    old, new = (number(facts.get("memory.limit_bytes")) for facts in (before, after))
    return old is not None and new is not None and old > 0 and (new > old or new < 0)


FIXES = (
    FixKind(
        id=RAISE,
        title="Raise the memory limit to hold the files in use",
        precondition="The node can spare the memory.",
        landing=Seen("The memory limit of the container rises, or is removed.", ("memory.limit_bytes",), _raised),
        measures=MEASURES,
        lab="page-cache --apply raise_memory_limit_for_files",
    ),
    FixKind(
        id="less_page_cache",
        title="Use less memory outside the page cache",
        precondition="The program can be changed, or has a cache or heap of its own that can be smaller.",
        landing=Unseen("It is a change of the program or of its own settings."),
        measures=MEASURES,
    ),
)
