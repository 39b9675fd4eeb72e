"""Fixes of pauses, as the runtime has them. For Go there is none: its pauses stay below 1 ms."""

from __future__ import annotations

from dataclasses import replace

from jitterscope.diagnosis.areas.runtime.readings.pauses import Pauses
from jitterscope.diagnosis.core.finding import Fix
from jitterscope.diagnosis.core.signals import read_cpu
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import jvm, jvm_tuning, node_tuning, python_tuning, ruby_tuning

VERIFY = (
    "Watch this incident: before and after are compared, and it closes as verified once the long pauses are gone. "
    "By hand: the longest pause in the GC log falls."
)


def propose(snapshot: Snapshot, pauses: Pauses) -> list[Fix]:
    """Those of the process that is stopped."""
    view, limit = pauses.process.view, read_cpu(snapshot).limit
    proposals: list[Fix | None] = []
    if pauses.process.runtime == "jvm":
        full = [jvm.is_full(str(name)) for name in pauses.own.collector]
        proposals = [
            jvm_tuning.low_pause_collector(snapshot, view, limit, VERIFY),
            jvm_tuning.pause_goal(snapshot, view, limit, full=sum(full) > len(full) / 2, verify=VERIFY),
            jvm_tuning.larger_heap(snapshot, view, VERIFY),
        ]
    elif pauses.process.runtime == "nodejs":
        proposals = [
            node_tuning.larger_old_space(snapshot, view, VERIFY),
            node_tuning.larger_semi_space(snapshot, view, VERIFY),
        ]
    elif pauses.process.runtime == "python":
        proposals = [python_tuning.freeze(VERIFY)]
    elif pauses.process.runtime == "ruby":
        proposals = [
            ruby_tuning.full_collections_between_requests(view, "reduces", VERIFY),
            ruby_tuning.rarer_full_collections(view, VERIFY),
            ruby_tuning.larger_malloc_limit(snapshot, view, VERIFY),
        ]
    return [fix for fix in proposals if fix is not None]


_LAB = "service-gc --variant gc-pause --apply"
FIXES = (
    replace(jvm_tuning.COLLECTOR, lab=f"{_LAB} jvm_collector"),
    replace(jvm_tuning.PAUSE_GOAL, lab=f"{_LAB} jvm_pause_goal"),
    replace(jvm_tuning.LARGER_HEAP, lab=f"{_LAB} jvm_larger_heap"),
    node_tuning.OLD_SPACE,
    node_tuning.SEMI_SPACE,
    python_tuning.FREEZE,
    *ruby_tuning.FIXES,
)
