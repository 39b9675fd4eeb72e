"""Fixes by Node.js options, for every area with causes in V8's collector.

Sources: nodejs.org/api/cli.html (--max-old-space-size, --max-semi-space-size).
"""

from __future__ import annotations

import math

from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import nodejs, options
from jitterscope.diagnosis.programs.option_patches import NODE, replaces, setting

_CLI = "https://nodejs.org/api/cli.html"
_MIB = 1 << 20
# Share of the container's memory for the old generation; the rest is buffers, code, stacks, and the young generation.
_SHARE = 0.75
_SEMI_SPACE_MIB = 64
# The young generation takes up to three semi-spaces: at most this share of the container's memory.
_YOUNG_SHARE = 0.15


def larger_old_space(snapshot: Snapshot, process: ResourceView, verify: str) -> Fix | None:
    """Needs a memory limit, which says how much there is."""
    memory = number(snapshot.subject.fact("memory.limit_bytes"))
    if memory is None or memory <= 0:
        return None
    wanted, now = math.floor(_SHARE * memory / _MIB), nodejs.old_space_bytes(options.of(process))
    if wanted < 1 or (now is not None and now * 1.25 > wanted * _MIB):
        return None
    texts, undo, rule = setting(NODE, f"--max-old-space-size={wanted}")
    is_now = "not set, and V8 chooses" if now is None else say.mebibytes(now)
    return Fix(
        id="node_old_space",
        title=f"Set --max-old-space-size={wanted}",
        summary=f"The limit of the old generation is {is_now}. Near it V8 collects the whole heap again and again. "
        "With more room it does so less often. Each collection lasts as long as before.",
        verdict="reduces" if now is not None else "unknown",
        precondition=replaces(process, *nodejs.OLD_SPACE),
        patches=texts,
        caveats=[rule, "A heap that keeps growing (a leak) reaches any limit: see whether memory was stable before."],
        verify="GC cycles become rarer. " + verify,
        undo=undo,
        references=[_CLI + "#--max-old-space-sizesize-in-mib"],
    )


def larger_semi_space(snapshot: Snapshot, process: ResourceView, verify: str) -> Fix | None:
    """None if it is already set that high."""
    now = nodejs.semi_space_mib(options.of(process))
    if now is not None and now >= _SEMI_SPACE_MIB:
        return None
    flag = f"--max-semi-space-size={_SEMI_SPACE_MIB}"
    memory = number(snapshot.subject.fact("memory.limit_bytes"))
    needed = 3 * _SEMI_SPACE_MIB * _MIB / _YOUNG_SHARE
    fits = memory is not None and (memory <= 0 or memory >= needed)
    texts, undo, rule = setting(NODE, flag)
    return Fix(
        id="node_semi_space",
        title=f"Set {flag}",
        summary="Objects get more time to die before they are copied: fewer scavenges, and fewer objects that move to "
        "the old generation, whose collections are the long ones."
        + (f" It is {now} MiB now." if now is not None else " By default it is 16 MiB, or less in a small container."),
        verdict="unknown",
        precondition=replaces(process, *nodejs.SEMI_SPACE)
        if fits
        else f"A memory limit of the container of at least {say.mebibytes(needed)}"
        + ("." if memory is None else f"; it is {say.mebibytes(memory)} now."),
        patches=texts if fits else [],
        caveats=[
            rule,
            f"It takes up to {3 * _SEMI_SPACE_MIB} MiB of memory.",
            "A scavenge copies what is live: where much of a full young generation survives, each gets longer.",
        ],
        verify="GC cycles become rarer. " + verify,
        undo=undo,
        references=[_CLI + "#--max-semi-space-sizesize-in-mib", "https://github.com/nodejs/node/issues/42511"],
    )


def _rises(names: tuple[str, ...], before: Facts, after: Facts) -> bool:
    old, new = (options.count(options.value(options.in_facts(facts), *names)) for facts in (before, after))
    return new is not None and (old is None or new > old)


OLD_SPACE = FixKind(
    id="node_old_space",
    title="Give Node.js a larger heap",
    precondition="A memory limit of the container with room for it.",
    landing=Seen(
        "--max-old-space-size of the process is set, or rises.",
        (options.FACT, "memory.limit_bytes"),
        lambda before, after: _rises(nodejs.OLD_SPACE, before, after),
    ),
)
SEMI_SPACE = FixKind(
    id="node_semi_space",
    title="Give Node.js a larger young generation",
    precondition="Memory for three times the size.",
    landing=Seen(
        "--max-semi-space-size of the process is set, or rises.",
        (options.FACT, "memory.limit_bytes"),
        lambda before, after: _rises(nodejs.SEMI_SPACE, before, after),
    ),
)
