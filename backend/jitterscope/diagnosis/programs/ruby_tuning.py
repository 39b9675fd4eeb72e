"""Fixes by settings of Ruby's collector, for every area with causes in it.

Sources: ruby(1), "GC ENVIRONMENT" (defaults and since when: Ruby 2.1); docs.ruby-lang.org/en/3.4/GC.html (config,
latest_gc_info); puma.io (out_of_band).
"""

from __future__ import annotations

from typing import Literal

from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix, Patch
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen, Unseen
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import options, ruby
from jitterscope.diagnosis.programs.option_patches import variables

_MANUAL = "https://github.com/ruby/ruby/blob/master/man/ruby.1"
_MIB = 1 << 20
_FACTOR = 4.0
_MALLOC_MIB, _MALLOC_MAX_MIB = 64, 128
# What may be allocated between two collections takes at most this share of the container's memory.
_MALLOC_SHARE = 0.15
_BETWEEN = """+# When the program has started
+GC.config(rgengc_allow_full_mark: false)
+
+# Between requests: in config/puma.rb
+out_of_band { GC.start if GC.latest_gc_info(:need_major_by) }"""


def rarer_full_collections(process: ResourceView, verify: str) -> Fix | None:
    """None if the factor is already that high."""
    now = ruby.value(options.of(process), ruby.OLD_OBJECTS)
    factor = ruby.OLD_OBJECTS_DEFAULT if now is None else now
    if factor >= _FACTOR:
        return None
    texts, undo = variables(process, {ruby.OLD_OBJECTS: f"{_FACTOR:g}"})
    return Fix(
        id="ruby_old_objects",
        title=f"Set {ruby.OLD_OBJECTS}={_FACTOR:g}",
        summary=f"Ruby collects its whole heap when there are {factor:g} times as many old objects as after the last "
        f"time; with {_FACTOR:g} it does so less often. Each full collection lasts as long as before.",
        verdict="unknown",
        precondition=f"Memory for up to {_FACTOR:g} times as many old objects as are in use.",
        patches=texts,
        caveats=[
            "Memory that old objects allocated, and objects that Ruby cannot track between generations, start full "
            "collections too: GC.latest_gc_info(:major_by) tells what did, and this changes only those by oldgen.",
            "Old objects that are garbage stay longer, and the process takes more memory.",
        ],
        verify="GC cycles become rarer. " + verify,
        undo=undo,
        references=[_MANUAL],
    )


def larger_malloc_limit(snapshot: Snapshot, process: ResourceView, verify: str) -> Fix | None:
    """None if the limit is already that high."""
    now = ruby.value(options.of(process), ruby.MALLOC_LIMIT_MAX)
    most = ruby.MALLOC_LIMIT_MAX_DEFAULT if now is None else now
    if most == 0 or most >= _MALLOC_MAX_MIB * _MIB:  # 0: none
        return None
    memory = number(snapshot.subject.fact("memory.limit_bytes"))
    needed = _MALLOC_MAX_MIB * _MIB / _MALLOC_SHARE
    fits = memory is not None and (memory <= 0 or memory >= needed)
    values = {ruby.MALLOC_LIMIT: _MALLOC_MIB * _MIB, ruby.MALLOC_LIMIT_MAX: _MALLOC_MAX_MIB * _MIB}
    texts, undo = variables(process, {name: str(one) for name, one in values.items()})
    return Fix(
        id="ruby_malloc_limit",
        title=f"Let Ruby allocate {_MALLOC_MAX_MIB} MiB between collections ({ruby.MALLOC_LIMIT_MAX})",
        summary="Ruby also collects when strings, arrays, and other objects have allocated a certain amount outside of "
        f"their slots: by itself it raises that to at most {say.mebibytes(most)}. With more there are fewer "
        "collections. Each lasts as long as before.",
        verdict="unknown",
        precondition=None
        if fits
        else f"A memory limit of the container of at least {say.mebibytes(needed)}"
        + ("." if memory is None else f"; it is {say.mebibytes(memory)} now."),
        patches=texts if fits else [],
        caveats=[
            "It changes only collections that allocated memory starts: GC.latest_gc_info(:gc_by) is malloc then.",
            "The process can take that much more memory.",
        ],
        verify="GC cycles become rarer. " + verify,
        undo=undo,
        references=[_MANUAL],
    )


def full_collections_between_requests(
    process: ResourceView, verdict: Literal["reduces", "unknown"], verify: str
) -> Fix | None:
    """None before Ruby 3.4."""
    has = ruby.FULL_MARKS.open(ruby.version(process))
    if has is False:
        return None
    return Fix(
        id="ruby_full_between_requests",
        title="Collect the whole heap between requests only (GC.config)",
        summary="Full collections are the long ones. Without permission to mark the whole heap, Ruby only notes that "
        "it should; the program starts them when no request waits. Each takes as much CPU time as before.",
        verdict=verdict,
        precondition=None if has else f"Ruby {ruby.FULL_MARKS.since_text} or later.",
        patches=[Patch(label="In the program, here with Puma", language="diff", text=_BETWEEN)],
        caveats=[
            "A server that never has a moment without requests never collects old objects: its memory grows.",
            "Other servers than Puma need a hook of their own for the second part.",
        ],
        verify="GC pauses that requests wait in get shorter. " + verify,
        undo="Remove the lines again and restart.",
        references=[ruby.FULL_MARKS.source, "https://puma.io/puma/Puma/DSL.html#out_of_band-instance_method"],
    )


def _rises(name: str, unset: float) -> Seen:
    def now(facts: Facts) -> float:
        found = ruby.value(options.in_facts(facts), name)
        return unset if found is None else found

    return Seen(
        f"{name} of the process is set above its default, or rises.",
        (options.FACT,),
        lambda before, after: now(after) > now(before),
    )


OLD_OBJECTS = FixKind(
    id="ruby_old_objects",
    title="Let Ruby collect its whole heap less often",
    precondition="Memory for more old objects.",
    landing=_rises(ruby.OLD_OBJECTS, ruby.OLD_OBJECTS_DEFAULT),
)
MALLOC_LIMIT = FixKind(
    id="ruby_malloc_limit",
    title="Let Ruby allocate more between collections",
    precondition="Memory for what is allocated between two collections.",
    landing=_rises(ruby.MALLOC_LIMIT_MAX, ruby.MALLOC_LIMIT_MAX_DEFAULT),
)
FULL_BETWEEN_REQUESTS = FixKind(
    id="ruby_full_between_requests",
    title="Collect Ruby's whole heap between requests only",
    precondition="Ruby 3.4 or later, in a server that is idle now and then.",
    landing=Unseen("What a program calls in its own process is no setting that a collector sees."),
)
FIXES = (OLD_OBJECTS, MALLOC_LIMIT, FULL_BETWEEN_REQUESTS)
