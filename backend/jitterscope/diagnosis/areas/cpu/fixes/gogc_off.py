"""Fix: collect less often (GOGC=off with GOMEMLIMIT), and its opposite for a limit that the heap does not fit into."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.cpu.fixes import predict
from jitterscope.diagnosis.areas.cpu.readings.throttling import Throttling
from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix, FixSetting, Found, predictions
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen, changed
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import golang

REFERENCES = [
    "https://go.dev/doc/gc-guide#Memory_limit",
    "https://github.com/golang/proposal/blob/master/design/48409-soft-memory-limit.md",
    "https://github.com/golang/go/issues/58106",
]
# Of the container's limit, kept free for what GOMEMLIMIT does not count (C memory, kernel memory, page cache).
HEADROOM = 0.2
# A limit below this many live heaps makes cycles frequent again.
ROOM = 1.5
SPIRAL = (
    "If the live heap grows to GOMEMLIMIT, the program runs GC all the time (a GC spiral) instead of failing fast: "
    "alert on it, and raise both limits with the heap."
)


def live_heap_bytes(snapshot: Snapshot, throttling: Throttling) -> tuple[float | None, str]:
    """Live heap of the Go process and where the figure is from; at GOGC=100 the heap peaks at twice that."""
    if throttling.gc is None:
        return None, ""
    measured = golang.heap_live_bytes(throttling.gc.view)
    if measured is not None:
        return measured, "measured"
    values = snapshot.subject.series.get("memory_anon_bytes")
    percent = golang.gogc(throttling.gc.view)
    if values is None or not np.isfinite(values).any() or percent is None:
        return None, ""
    return float(np.nanmax(values)) / (1.1 * (1 + percent / 100)), "estimated from the container's memory"


def fewer_cycles(snapshot: Snapshot, throttling: Throttling, found: Found) -> Fix | None:
    """GOGC=off with GOMEMLIMIT. Not proposed where heap growth already starts no cycle."""
    if throttling.gc is None or throttling.gc.runtime != "go" or golang.gogc(throttling.gc.view) is None:
        return None
    process = throttling.gc.view
    live, how = live_heap_bytes(snapshot, throttling)
    container = number(snapshot.subject.fact("memory.limit_bytes"))
    container = container if container is not None and container > 0 else None
    percent = golang.gogc(process) or 100
    limit = None
    if container is not None:
        limit = (1 - HEADROOM) * container
    elif live is not None:
        limit = 5 * live
    if limit is None or live is None:
        return _fix(
            snapshot, "unknown", None,
            "Cycles start only when memory is nearly used up, so there are fewer stalls. Each lasts as long as before. "
            "How many fewer depends on the live heap and the memory limit, which are not known here.",
            "Measure the live heap (go_memstats_heap_inuse_bytes after a cycle) and set a memory limit for the "
            "container.",
        )  # fmt: skip
    if limit < ROOM * live:
        return _fix(
            snapshot, "cannot_help", None,
            f"Cannot help: the live heap ({say.mebibytes(live)}, {how}) nearly fills the memory limit, so cycles "
            "would become more frequent.",
            f"Works only with a memory limit of at least {say.mebibytes(2.5 * live)}.",
        )  # fmt: skip
    # A cycle starts after the heap has grown by `live × GOGC` now, by `limit − live` then.
    ratio = min(1.0, (live * percent / 100) / (limit - live))
    setting = FixSetting(gogc="off", gomemlimit_bytes=int(limit))
    said = predict.replayed(snapshot, setting)
    fix = _fix(
        snapshot, "reduces", limit,
        f"Cycles start when memory reaches {say.mebibytes(limit)} instead of at twice the live heap "
        f"({say.mebibytes(live)}, {how}): about {1 / ratio:.1f} times fewer. Each cycle stalls as long as before.",
        None if container is not None else "Also set the memory limit of the container, 25 % above GOMEMLIMIT.",
    )  # fmt: skip
    return fix.model_copy(
        update={
            "predicted": predictions(slow_ratio=said.slow_ratio, throttled_ratio=said.throttled_ratio),
            "setting": setting,
        }
    )


def _fix(
    snapshot: Snapshot,
    verdict: str,
    limit: float | None,
    summary: str,
    precondition: str | None,
) -> Fix:
    value = f"{limit / (1 << 20):.0f}MiB" if limit else "LIMIT"
    texts, undo = patches.environment(snapshot, {"GOGC": "off", "GOMEMLIMIT": value})
    return Fix(
        id="gogc_off_gomemlimit",
        title=f"Set GOGC=off with GOMEMLIMIT={value}" if limit else "Set GOGC=off with GOMEMLIMIT",
        summary=summary,
        verdict=verdict,
        precondition=precondition,
        patches=[] if verdict == "cannot_help" or limit is None else texts,
        caveats=[
            "It still stalls, only less often: the CPU time of one cycle does not change.",
            f"Keep {100 * HEADROOM:.0f} % of the container's memory limit free above GOMEMLIMIT and at least {ROOM:g} "
            "live heaps below it.",
            SPIRAL,
        ],
        verify=patches.VERIFY + " GC cycles become as rare as predicted.",
        undo=undo,
        references=REFERENCES,
    )


def _collects_less(before: Facts, after: Facts) -> bool:
    """GOGC goes off; GOMEMLIMIT stays as it was, or is set."""
    off = changed(before, after, "go.env.GOGC") and after.get("go.env.GOGC") == "off"
    return off and (not changed(before, after, "go.env.GOMEMLIMIT") or after.get("go.env.GOMEMLIMIT") is not None)


FIXES = (
    FixKind(
        id="gogc_off_gomemlimit",
        title="Set GOGC=off with GOMEMLIMIT",
        precondition="A Go program whose live heap fits well into the memory limit.",
        landing=Seen(
            "GOGC becomes off in the environment of the program, and GOMEMLIMIT is set with it or was set before.",
            ("go.env.GOGC", "go.env.GOMEMLIMIT", "memory.limit_bytes"),
            _collects_less,
        ),
        lab="coredns-gc --apply gogc_off_gomemlimit",
    ),
)
