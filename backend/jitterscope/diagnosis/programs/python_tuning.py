"""Fixes in a Python program, for every area with causes in its cyclic garbage collector.

Source: docs.python.org/3/library/gc.html (freeze, set_threshold).
"""

from __future__ import annotations

from jitterscope.diagnosis.core.finding import Fix, Patch
from jitterscope.diagnosis.core.landing import FixKind, Unseen

REFERENCES = ["https://docs.python.org/3/library/gc.html#gc.freeze"]
_CODE = "+import gc\n+\n+gc.collect()\n+gc.freeze()"


def freeze(verify: str) -> Fix:
    return Fix(
        id="python_gc_freeze",
        title="Keep what lives forever out of the collector (gc.freeze)",
        summary="A full collection walks all objects that can hold others, modules and caches included. After "
        "gc.freeze() it leaves out those that exist by then, and takes as long as what was made since.",
        verdict="reduces",
        patches=[Patch(label="Once, when everything is loaded", language="diff", text=_CODE)],
        caveats=[
            "Cycles among frozen objects are never freed.",
            "Python 3.7 or later. Where the heap grows after the start, call it again, or set higher thresholds "
            "(gc.set_threshold).",
        ],
        verify="GC cycles get shorter. " + verify,
        undo="Remove the lines again.",
        references=REFERENCES,
    )


FREEZE = FixKind(
    id="python_gc_freeze",
    title="Keep what lives forever out of Python's collector",
    precondition="A program of your own, whose long-lived objects are made at its start.",
    landing=Unseen("What a program calls in its own process is no setting that a collector sees."),
)
