"""Fixes for a GC spiral: raise GOMEMLIMIT above the live heap, or take it away."""

from __future__ import annotations

import math

from jitterscope.diagnosis import golang
from jitterscope.diagnosis import wording as say
from jitterscope.diagnosis.finding import Fix, FixSetting, Found
from jitterscope.diagnosis.fixes import go_memory, patches, predict
from jitterscope.diagnosis.signals import number
from jitterscope.diagnosis.snapshot import Snapshot
from jitterscope.diagnosis.throttling import Throttling


def propose(snapshot: Snapshot, throttling: Throttling, found: Found, verify: str) -> list[Fix]:
    """A higher GOMEMLIMIT, and GOMEMLIMIT unset with GOGC back on."""
    go = throttling.go
    if go is None:
        return []
    now = golang.memory_limit_bytes(go.view)
    used = golang.counted_memory_bytes(snapshot.subject, go.view)
    live = golang.heap_live_bytes(go.view) or used
    if now is None:
        return []
    # Twice the heap gives the collector as much room as GOGC=100 would.
    wanted = math.ceil(2 * max(live or 0.0, float(now)) / (64 << 20)) * (64 << 20)
    container = number(snapshot.subject.fact("memory.limit_bytes"))
    fits = container is None or container <= 0 or wanted <= (1 - go_memory.HEADROOM) * container
    texts, undo = patches.environment(snapshot, {"GOMEMLIMIT": f"{wanted >> 20}MiB"})
    setting = FixSetting(gomemlimit_bytes=wanted)
    said = predict.replayed(snapshot, setting)
    needs = (
        None
        if fits
        else f"Raise the container's memory limit to {say.mebibytes(wanted / (1 - go_memory.HEADROOM))} first."
    )
    removed, back = patches.environment(snapshot, {"GOMEMLIMIT": None, "GOGC": "100"})
    return [
        Fix(
            id="raise_gomemlimit",
            title=f"Raise GOMEMLIMIT from {say.mebibytes(now)} to {say.mebibytes(wanted)}",
            summary=f"The program keeps at least {say.mebibytes(live or now)} in use; twice that lets the "
            "collector rest between cycles. "
            "The cycles that are left may still be throttled, but no longer all the time.",
            verdict="reduces",
            predicted_slow_ratio=said.slow_ratio,
            predicted_throttled_ratio=said.throttled_ratio,
            setting=setting,
            precondition=needs,
            patches=texts,
            caveats=[
                f"Keep {go_memory.HEADROOM:.0%} of the container's memory limit free above GOMEMLIMIT.",
                "A heap that keeps growing (a leak) reaches any limit: see whether memory was stable before.",
            ],
            verify="GC cycles become rare. " + verify,
            undo=undo,
            references=go_memory.REFERENCES,
        ),
        Fix(
            id="unset_gomemlimit",
            title="Take GOMEMLIMIT away and leave GOGC at 100",
            summary="Cycles then start when the heap has doubled; the container's memory limit must hold that.",
            verdict="reduces",
            predicted_slow_ratio=None,
            predicted_throttled_ratio=None,
            setting=FixSetting(gogc=100, gomemlimit_bytes="off"),
            precondition=f"About {say.mebibytes(2.2 * (live or now))} of memory for the container.",
            patches=removed,
            caveats=["Without GOMEMLIMIT a heap that grows is killed by the OOM killer instead of slowing down."],
            verify="GC cycles become rare. " + verify,
            undo=back,
            references=go_memory.REFERENCES,
        ),
    ]
