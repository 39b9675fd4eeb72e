"""Facts of runtimes other than Go that areas watch: a change of one of them can be a fix."""

from __future__ import annotations

from jitterscope.diagnosis.core.area import WatchedFact
from jitterscope.diagnosis.programs import options

OPTIONS = WatchedFact(options.FACT, "Runtime options", "processes", options.show, known_by="runtime.name")
RUNTIME = (
    OPTIONS,
    WatchedFact("runtime.version", "Runtime version", "processes"),
    WatchedFact("runtime.gc_kind", "Garbage collector", "processes"),
    WatchedFact("runtime.cpus", "CPUs that the runtime sees", "processes"),
)
