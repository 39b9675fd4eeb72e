"""The predicted effect of omitted programs on the same starts, for comparison in its verification."""

from __future__ import annotations

from jitterscope.diagnosis.areas.pods.readings import bpf_loads, verifier
from jitterscope.diagnosis.areas.pods.readings import starts as pod_starts
from jitterscope.diagnosis.areas.pods.readings.programs_seen import PROGRAMS, left_out
from jitterscope.diagnosis.areas.pods.readings.starts import PodStarts
from jitterscope.diagnosis.areas.pods.whatif.pod_start import without
from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.snapshot import Snapshot


def predict_change(before: Snapshot, after: Snapshot) -> dict[str, Interval]:
    """By measure id, for the programs that `after` no longer has; empty if it has them all, or new ones."""
    gone = left_out(before.subject.fact(PROGRAMS), after.subject.fact(PROGRAMS))
    starts = pod_starts.read(before)
    owner = next((one for one in bpf_loads.loaders(before) if one.command in gone), None)
    if owner is None or not isinstance(starts, PodStarts):
        return {}
    removed = owner.sets_us() - owner.sets_us(gone[owner.command])
    return {"late_start_ratio": without(starts.starts, removed, verifier.covered(owner, starts)).late_ratio}
