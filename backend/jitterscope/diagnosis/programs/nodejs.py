"""Knowledge about Node.js: which threads collect garbage, and what its options set.

Sources: nodejs.org/api/cli.html (--max-old-space-size, --max-semi-space-size, --v8-pool-size, NODE_OPTIONS);
v8/src/heap (parallel scavenger and mark-compact run on the platform's worker threads beside the main thread).
"""

from __future__ import annotations

from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import ResourceView
from jitterscope.diagnosis.programs import options
from jitterscope.diagnosis.programs.options import Threads

OLD_SPACE = ("--max-old-space-size", "--max_old_space_size")
SEMI_SPACE = ("--max-semi-space-size", "--max_semi_space_size")
# Worker threads of V8's platform, unless --v8-pool-size sets another number.
_POOL = 4
_MIB = 1 << 20


def gc_threads(process: ResourceView, node_cpus: float | None) -> Threads:
    """The main thread, and V8's workers as far as there are CPUs for them."""
    set_ = options.of(process)
    if "--single-threaded-gc" in set_ or "--single-threaded" in set_:
        return Threads(1, "--single-threaded-gc")
    pool = options.count(options.value(set_, "--v8-pool-size"))
    cpus = number(process.fact("runtime.cpus")) or number(process.fact("process.affinity_cpus")) or node_cpus
    threads = 1 + (_POOL if pool is None else pool)
    return Threads(
        threads if cpus is None else int(min(threads, max(1.0, cpus))),
        "the main thread and V8's workers" + (f", --v8-pool-size={pool}" if pool is not None else ""),
    )


def marks_unseen(process: ResourceView) -> bool:
    """Whether only the pauses of its collections were observed: V8 marks most of the old space concurrently."""
    return process.fact("runtime.name") == "nodejs" and process.fact("runtime.gc_marking") != "observed"


def old_space_bytes(set_: tuple[str, ...]) -> int | None:
    """Heap limit of --max-old-space-size; None if it is not set, so that V8 chooses."""
    mebibytes = options.count(options.value(set_, *OLD_SPACE))
    return None if mebibytes is None else mebibytes * _MIB


def semi_space_mib(set_: tuple[str, ...]) -> int | None:
    """--max-semi-space-size in MiB; None if it is not set."""
    return options.count(options.value(set_, *SEMI_SPACE))
