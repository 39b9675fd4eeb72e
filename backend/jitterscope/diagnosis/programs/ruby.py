"""Knowledge about Ruby (CRuby): settings of its collector, and what versions can do.

Sources: ruby(1), "GC ENVIRONMENT"; gc/default/default.c of Ruby (gc.c before 3.4): gc_marks, gc_marks_continue.
"""

from __future__ import annotations

from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import ResourceView
from jitterscope.diagnosis.programs import options
from jitterscope.diagnosis.programs.versions import Gate, Version, parse

OLD_OBJECTS, OLD_OBJECTS_DEFAULT = "RUBY_GC_HEAP_OLDOBJECT_LIMIT_FACTOR", 2.0
MALLOC_LIMIT, MALLOC_LIMIT_MAX = "RUBY_GC_MALLOC_LIMIT", "RUBY_GC_MALLOC_LIMIT_MAX"
MALLOC_LIMIT_MAX_DEFAULT = 32 << 20

FULL_MARKS = Gate(
    "Ruby", (3, 4), "GC.config(rgengc_allow_full_mark: false) keeps full collections away until the program asks",
    "https://docs.ruby-lang.org/en/3.4/GC.html#method-c-config",
)  # fmt: skip


def version(process: ResourceView) -> Version | None:
    return parse(process.fact("runtime.version"))


def value(set_: tuple[str, ...], name: str) -> float | None:
    """The value of a variable that holds a number; None if it is not set."""
    return number(options.value(set_, f"{name}="))
