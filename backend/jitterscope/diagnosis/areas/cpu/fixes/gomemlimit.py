"""Fixes for a GC spiral: raise GOMEMLIMIT above the live heap, or unset it."""

from __future__ import annotations

import math

from jitterscope.diagnosis.areas.cpu.fixes import gogc_off, predict
from jitterscope.diagnosis.areas.cpu.readings.throttling import Throttling
from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix, FixSetting, Found, predictions
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen, changed
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import golang


def propose(snapshot: Snapshot, throttling: Throttling, found: Found, verify: str) -> list[Fix]:
    """A higher GOMEMLIMIT, and GOMEMLIMIT unset with GOGC back on."""
    go = throttling.gc
    if go is None or go.runtime != "go":
        return []
    now = golang.memory_limit_bytes(go.view)
    used = golang.counted_memory_bytes(snapshot.subject, go.view)
    live = golang.heap_live_bytes(go.view) or used
    if now is None:
        return []
    # Twice the heap gives the collector as much room as GOGC=100 would.
    wanted = math.ceil(2 * max(live or 0.0, float(now)) / (64 << 20)) * (64 << 20)
    container = number(snapshot.subject.fact("memory.limit_bytes"))
    fits = _fits(container, wanted / (1 - gogc_off.HEADROOM))
    enough = 2.2 * (live or now)
    texts, undo = patches.environment(snapshot, {"GOMEMLIMIT": f"{wanted >> 20}MiB"})
    setting = FixSetting(gomemlimit_bytes=wanted)
    said = predict.replayed(snapshot, setting)
    needs = (
        None
        if fits
        else f"Needs {say.mebibytes(wanted / (1 - gogc_off.HEADROOM))} of memory for the container, whose limit is not "
        "known."
        if container is None
        else f"Raise the container's memory limit to {say.mebibytes(wanted / (1 - gogc_off.HEADROOM))} first."
    )
    removed, back = patches.environment(snapshot, {"GOMEMLIMIT": None, "GOGC": "100"})
    return [
        Fix(
            id="raise_gomemlimit",
            title=f"Raise GOMEMLIMIT from {say.mebibytes(now)} to {say.mebibytes(wanted)}",
            summary=f"The program keeps at least {say.mebibytes(live or now)} in use. Twice that lets GC rest "
            "between cycles. The remaining cycles might still be throttled, but no longer all the time.",
            verdict="reduces",
            predicted=predictions(slow_ratio=said.slow_ratio, throttled_ratio=said.throttled_ratio),
            setting=setting,
            precondition=needs,
            patches=texts if fits else [],
            caveats=[
                f"Keep {100 * gogc_off.HEADROOM:.0f} % of the container's memory limit free above GOMEMLIMIT.",
                "A heap that keeps growing (a leak) reaches any limit: check whether memory was stable before.",
            ],
            verify="GC cycles become rare. " + verify,
            undo=undo,
            references=gogc_off.REFERENCES,
        ),
        Fix(
            id="unset_gomemlimit",
            title="Unset GOMEMLIMIT and keep GOGC=100",
            summary="Cycles then start when the heap has doubled, and the container's memory limit must hold that.",
            verdict="reduces",
            setting=FixSetting(gogc=100, gomemlimit_bytes="off"),
            precondition=f"Needs about {say.mebibytes(enough)} of memory for the container.",
            patches=removed if _fits(container, enough) else [],
            caveats=["Without GOMEMLIMIT a heap that keeps growing ends in an OOM kill instead of a slowdown."],
            verify="GC cycles become rare. " + verify,
            undo=back,
            references=gogc_off.REFERENCES,
        ),
    ]


def _fits(container: float | None, needed: float) -> bool:
    """Whether the container's memory limit (bytes; not positive: none) is known to allow this much."""
    return container is not None and (container <= 0 or needed <= container)


def _raised(before: Facts, after: Facts) -> bool:
    old, new = (golang.memory_bytes(facts.get("go.env.GOMEMLIMIT")) for facts in (before, after))
    return new is not None and (old is None or new > old)


def _unset(before: Facts, after: Facts) -> bool:
    gone = after.get("go.env.GOMEMLIMIT") in (None, "off")
    return gone and changed(before, after, "go.env.GOMEMLIMIT") and after.get("go.env.GOGC") != "off"


FIXES = (
    FixKind(
        id="raise_gomemlimit",
        title="Raise GOMEMLIMIT",
        precondition="A memory limit of the container that leaves 20 % free above the new GOMEMLIMIT.",
        landing=Seen(
            "GOMEMLIMIT in the environment of the program rises.",
            ("go.env.GOMEMLIMIT", "memory.limit_bytes"),
            _raised,
        ),
        lab="coredns-gc --variant gc-spiral --apply raise_gomemlimit",
    ),
    FixKind(
        id="unset_gomemlimit",
        title="Unset GOMEMLIMIT",
        precondition="Memory for twice the live heap, and GOGC on.",
        landing=Seen(
            "GOMEMLIMIT is removed from the environment of the program, and GOGC is not off.",
            ("go.env.GOMEMLIMIT", "go.env.GOGC", "memory.limit_bytes"),
            _unset,
        ),
        lab="coredns-gc --variant gc-spiral --apply unset_gomemlimit",
    ),
)
