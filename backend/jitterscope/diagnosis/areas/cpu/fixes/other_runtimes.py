"""Fixes in the collector of a runtime other than Go: as the runtime itself has them."""

from __future__ import annotations

from jitterscope.diagnosis.areas.cpu.fixes import jvm_cpus
from jitterscope.diagnosis.areas.cpu.readings.throttling import Throttling
from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core.finding import Fix
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import jvm_tuning, node_tuning, python_tuning, ruby_tuning


def propose(snapshot: Snapshot, throttling: Throttling) -> list[Fix]:
    """Of the process whose collector ran most; none for Go, which has its own."""
    gc = throttling.gc
    if gc is None:
        return []
    proposals: list[Fix | None] = []
    if gc.runtime == "jvm":
        other = jvm_tuning.low_pause_collector(snapshot, gc.view, throttling.cpu.limit, patches.VERIFY)
        proposals = [
            jvm_tuning.larger_heap(snapshot, gc.view, patches.VERIFY),
            *jvm_cpus.propose(snapshot, throttling),
            # What another collector's work costs under this limit is not known: no pause means no less CPU.
            None if other is None else other.model_copy(update={"verdict": "unknown"}),
        ]
    elif gc.runtime == "nodejs":
        proposals = [
            node_tuning.larger_old_space(snapshot, gc.view, patches.VERIFY),
            node_tuning.larger_semi_space(snapshot, gc.view, patches.VERIFY),
        ]
    elif gc.runtime == "python":
        proposals = [python_tuning.freeze(patches.VERIFY)]
    elif gc.runtime == "ruby":
        proposals = [
            ruby_tuning.rarer_full_collections(gc.view, patches.VERIFY),
            ruby_tuning.larger_malloc_limit(snapshot, gc.view, patches.VERIFY),
            # The same CPU time between requests throttles those that come meanwhile.
            ruby_tuning.full_collections_between_requests(gc.view, "unknown", patches.VERIFY),
        ]
    return [fix for fix in proposals if fix is not None]


FIXES = (
    jvm_tuning.LARGER_HEAP, jvm_tuning.COLLECTOR, node_tuning.OLD_SPACE, node_tuning.SEMI_SPACE, python_tuning.FREEZE,
    *ruby_tuning.FIXES,
)  # fmt: skip
