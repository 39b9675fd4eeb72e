"""Fixes for a memory limit that is reached: a higher one, a soft limit for the Go heap, and finding what grows."""

from __future__ import annotations

from collections.abc import Mapping

from jitterscope.diagnosis.areas.memory.fixes import patches as patches_memory
from jitterscope.diagnosis.areas.memory.readings import settings
from jitterscope.diagnosis.areas.memory.readings.signals import Growth, Memory
from jitterscope.diagnosis.areas.memory.readings.waiting_queries import Burst
from jitterscope.diagnosis.areas.memory.whatif.load import load_of
from jitterscope.diagnosis.areas.memory.whatif.query_burst import MARGIN, figures, forecast, needed_limit
from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.area import NEIGHBOUR
from jitterscope.diagnosis.core.finding import Fix, FixSetting, Interval, Patch
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen, Unseen, differs
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import config_map, corefile, golang

LIMITS = "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"
CGROUP = "https://docs.kernel.org/admin-guide/cgroup-v2.html#memory"
GUIDE = "https://go.dev/doc/gc-guide#Memory_limit"
VERIFY = "memory.events (v1: memory.oom_control) counts no further oom_kill, and this incident closes."
# Share of the limit for GOMEMLIMIT: what the runtime does not count (sockets, kernel memory) needs the rest.
SOFT = 0.8
# A program that uses more than this share of GOMEMLIMIT runs GC too often.
LIVE_MOST = 0.8
SPIRAL = "https://github.com/golang/go/issues/58106"
# Answers that CoreDNS's cache keeps unless told otherwise.
DEFAULT_CAPACITY = 9984


def for_burst(snapshot: Snapshot, memory: Memory, burst: Burst, limit: float) -> list[Fix]:
    """A limit that holds as many queries as can wait; and GOMEMLIMIT for the garbage beside them."""
    load = load_of(burst, limit)
    needed = needed_limit(load)
    fixes: list[Fix] = []
    if needed is not None and needed > limit:
        said = forecast(load, limit_bytes=patches_memory.mebibytes(needed) * patches_memory.MIB)
        fixes.append(
            _raise(
                snapshot, memory.owner, needed, limit, "removes" if said.outcome == "survives" else "reduces",
                f"Up to {burst.ceiling:,.0f} queries can wait, at {load.per_query_bytes[1] / 1024:,.1f} KiB "
                f"plus as much garbage each, on top of {say.mebibytes(load.base_bytes)}; a fifth of the limit is left "
                "free.",
                ["A larger burst, or an even slower upstream, needs more: also cap concurrent queries."],
                figures(said),
            )
        )  # fmt: skip
    elif needed is None:
        fixes.append(
            _raise(
                snapshot, memory.owner, 2 * limit, limit, "reduces",
                "The number of waiting queries is unbounded, so no limit is certain to be enough. Twice the limit "
                "takes about twice as long to fill.",
                ["Cap concurrent queries first (max_concurrent)."],
            )
        )  # fmt: skip
    return [*fixes, *_soft_limit(snapshot, limit, load.base_bytes, leak=False)]


def for_growth(snapshot: Snapshot, memory: Memory, rise: Growth | None, limit: float, *, in_files: bool) -> list[Fix]:
    """Find what grows; meanwhile a higher limit, with the time that it buys."""
    fixes = [_files(limit)] if in_files else [*_cache_capacity(snapshot), _profile(snapshot)]
    bought = ""
    caveats = ["A leak fills any limit. This only buys time."]
    if rise is not None and rise.rate > 0:
        bought = f" At {rise.rate / (1 << 20):,.2f} MiB/s that buys {_time(limit / rise.rate)}."
    fixes.append(
        _raise(snapshot, memory.owner, 2 * limit, limit, "reduces",
               f"Twice the limit as a first step.{bought}", caveats)
    )  # fmt: skip
    if not in_files:
        fixes += _soft_limit(snapshot, limit, None if rise is None else rise.base, leak=True)
    fixes.append(_memory_high(snapshot, memory, limit))
    return fixes


def _raise(
    snapshot: Snapshot, owner: ResourceView, wanted: float, limit: float, verdict: str, why: str, caveats: list[str],
    predicted: Mapping[str, Interval] | None = None,
) -> Fix:  # fmt: skip
    allowed = patches_memory.within_node(snapshot, wanted, limit)
    if allowed is None:
        return patches_memory.beyond_node(snapshot, "raise_memory_limit", limit, VERIFY, [LIMITS, CGROUP])
    if allowed < wanted:
        # What was predicted and said is about more memory than the node can give.
        verdict, predicted = "reduces", None
        why = f"{why} {patches_memory.capped(snapshot)}"
    wanted = allowed
    texts, undo = patches_memory.memory_limit(snapshot, owner, wanted, limit)
    new = patches_memory.mebibytes(wanted)
    return Fix(
        id="raise_memory_limit",
        title=f"Raise the memory limit from {say.mebibytes(limit)} to {new} MiB",
        summary=why,
        verdict="removes" if verdict == "removes" else "reduces",
        predicted=dict(predicted or {}),
        patches=texts,
        caveats=[*caveats, *patches_memory.caveats(snapshot, wanted, limit)],
        verify=VERIFY,
        undo=undo,
        references=[LIMITS, CGROUP],
    )


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def _soft_limit(snapshot: Snapshot, limit: float, base: float | None, *, leak: bool) -> list[Fix]:
    """GOMEMLIMIT below the limit: garbage goes before the kernel kills; what is in use stays.

    `base`: bytes that the program uses without the trouble; None: not known.
    """
    go = next((process for process in snapshot.processes if process.fact("go.version") is not None), None)
    if go is None:
        return []
    now = golang.memory_limit_bytes(go)
    wanted = int(SOFT * limit) >> 20
    if now is not None and now <= 0.95 * limit:
        return []
    if golang.version(go.fact("go.version")) < (1, 19):
        return [
            Fix(
                id="gomemlimit", title="GOMEMLIMIT", verdict="cannot_help",
                summary="Cannot help: Go has it from 1.19 on, and this program is older.",
                verify=VERIFY, undo="Nothing to undo.", references=[GUIDE],
            )
        ]  # fmt: skip
    if base is None:
        base = golang.heap_live_bytes(go)
    if base is not None and base > LIVE_MOST * (wanted << 20):
        return [
            Fix(
                id="gomemlimit", title=f"GOMEMLIMIT={wanted}MiB", verdict="cannot_help",
                summary=f"Cannot help: the program uses {say.mebibytes(base)} anyway, so it would run GC all the time. "
                "Raise the memory limit first.",
                verify=VERIFY, undo="Nothing to undo.", references=[GUIDE, SPIRAL],
            )
        ]  # fmt: skip
    texts, undo = patches.environment(snapshot, {"GOMEMLIMIT": f"{wanted}MiB"})
    what = "a leak" if leak else "queries that wait"
    return [
        Fix(
            id="gomemlimit",
            title=f"GOMEMLIMIT={wanted}MiB",
            summary=f"The Go runtime then runs GC before memory reaches {wanted} MiB, so garbage does not fill the "
            f"limit. Memory in use stays: {what} still fill{'s' if leak else ''} it, a little later.",
            verdict="reduces",
            setting=FixSetting(gomemlimit_bytes=wanted << 20),
            precondition=None
            if base is not None
            else f"Works only if the live heap stays well below {wanted} MiB, which is not recorded here.",
            patches=texts if base is not None else [],
            caveats=["If memory in use reaches it, the program runs GC all the time (golang/go#58106)."],
            verify=VERIFY,
            undo=undo,
            references=[GUIDE, SPIRAL],
        )
    ]


def _cache_capacity(snapshot: Snapshot) -> list[Fix]:
    """A CoreDNS cache that may keep far more answers than it does by default."""
    for server in snapshot.dns_servers:
        for block in corefile.of(server):
            plugin = block.plugin("cache")
            options = [] if plugin is None else plugin.options
            sizes = [o[1] for o in options if len(o) > 1 and o[0] in ("success", "denial") and o[1].isdecimal()]
            kept = max(map(int, sizes), default=0)
            if kept < 10 * DEFAULT_CAPACITY:
                continue
            text = f"cache 30 {{\n    success {DEFAULT_CAPACITY}\n    denial {DEFAULT_CAPACITY}\n}}"
            return [
                Fix(
                    id="cache_capacity",
                    title=f"Cap the cache at {DEFAULT_CAPACITY:,} answers (now {kept:,})",
                    summary=f"The cache of {' '.join(block.keys)} can keep {kept:,} answers until they expire: "
                    "with many different names, memory grows until the cache is full.",
                    verdict="reduces",
                    patches=config_map.with_command(
                        snapshot,
                        server,
                        config_map.plugin([block], text),
                        Patch(label="Corefile", language="corefile", text=text),
                    ),
                    caveats=["coredns_cache_entries on the metrics page shows whether the cache grows."],
                    verify=VERIFY,
                    undo=f"Restore the capacity of {kept} and reload.",
                    references=["https://coredns.io/plugins/cache/"],
                )
            ]
    return []


def _profile(snapshot: Snapshot) -> Fix:
    """What grows is told by the program itself."""
    go = next((process for process in snapshot.processes if process.fact("go.version") is not None), None)
    pid = snapshot.processes[0].key.partition(":")[0] if snapshot.processes else "PID"
    if go is not None:
        text = "go tool pprof -base first.heap second.heap   # from /debug/pprof/heap, some minutes apart"
        patch = Patch(label="Two heap profiles of a Go program (CoreDNS: plugin pprof)", language="shell", text=text)
        references = ["https://pkg.go.dev/net/http/pprof", "https://coredns.io/plugins/pprof/"]
    else:
        text = f"sort -k2 -t: /proc/{pid}/smaps_rollup; sleep 60; cat /proc/{pid}/smaps_rollup   # which kind grows"
        patch = Patch(label="Which kind of memory grows", language="shell", text=text)
        references = ["https://docs.kernel.org/filesystems/proc.html"]
    return Fix(
        id="find_growth",
        title="Find the leak",
        summary="No setting removes a leak. Compare two heap profiles taken some time apart.",
        verdict="unknown",
        patches=[patch],
        verify="Memory without page cache stays level for as long as it took to fill the limit.",
        undo="Nothing to undo.",
        references=references,
    )


def _files(limit: float) -> Fix:
    text = "emptyDir:\n  medium: Memory\n  sizeLimit: " + f"{int(0.5 * limit) >> 20}Mi"
    return Fix(
        id="tmpfs_size",
        title="Limit tmpfs files",
        summary="Files on a tmpfs count against the limit and are not reclaimable. Keep them on a disk, or limit them.",
        verdict="removes",
        precondition="Works only if a tmpfs fills the limit (df -t tmpfs in the container).",
        patches=[Patch(label="Volume of the pod", language="yaml", text=text)],
        verify=VERIFY,
        undo="Restore the previous volume.",
        references=["https://kubernetes.io/docs/concepts/storage/volumes/#emptydir"],
    )


def _memory_high(snapshot: Snapshot, memory: Memory, limit: float) -> Fix:
    """A well-known one that does not help where nothing can be given back."""
    return Fix(
        id="memory_high",
        title="Set memory.high below the limit",
        verdict="cannot_help",
        summary=f"Cannot help: above {say.percent(1 - MARGIN)} of {say.mebibytes(limit)} it would slow the program "
        "down to reclaim memory. Nothing is reclaimable here, so the program would stall instead of being killed.",
        verify="Nothing to see.",
        undo="Nothing to undo.",
        references=[CGROUP],
    )


def _raised(before: Facts, after: Facts) -> bool:
    old, new = settings.limit_bytes(before), settings.limit_bytes(after)
    return old is not None and new is not None and new > old


def _softened(before: Facts, after: Facts) -> bool:
    """GOMEMLIMIT is set that was not, or is lower."""
    old, new = (golang.memory_bytes(facts.get("go.env.GOMEMLIMIT")) for facts in (before, after))
    return new is not None and (old is None or new < old)


def _less_kept(before: Facts, after: Facts) -> bool:
    """The cache has its default capacity, or a lower one than it had."""
    old, new = settings.cache_capacity(before), settings.cache_capacity(after)
    return old is not None and "dns.corefile_parsed" in after and (new is None or new < old)


_HIGH = (settings.HIGH, NEIGHBOUR + settings.HIGH)
_KILLS = ("oom_kills_per_h", "near_limit_ratio", "memory_wait_ms_per_min")
FIXES = (
    FixKind(
        id="raise_memory_limit",
        title="Raise the memory limit",
        precondition="The node can spare the memory.",
        landing=Seen("The memory limit of the container rises, or is removed.", ("memory.limit_bytes",), _raised),
        measures=_KILLS,
        lab="coredns-oom --apply raise_memory_limit",
    ),
    FixKind(
        id="gomemlimit",
        title="Set GOMEMLIMIT below the memory limit",
        precondition="A program built with Go 1.19 or later, whose live heap fits below the new limit.",
        landing=Seen(
            "GOMEMLIMIT appears in the environment of the program, or becomes lower.",
            ("go.env.GOMEMLIMIT", "memory.limit_bytes"),
            _softened,
        ),
        measures=_KILLS,
        lab="coredns-oom --apply gomemlimit",
    ),
    FixKind(
        id="cache_capacity",
        title="Lower the capacity of the CoreDNS cache",
        precondition="The Corefile gives the cache plugin a capacity far above its default.",
        landing=Seen(
            "The capacity of the cache plugin in the Corefile falls.",
            ("dns.corefile", "dns.corefile_parsed"),
            _less_kept,
        ),
        measures=_KILLS,
        lab="coredns-oom --variant leak --apply cache_capacity",
    ),
    FixKind(
        id="find_growth",
        title="Find what grows",
        precondition="The program can show its memory: pprof, or smaps_rollup.",
        landing=Unseen("Looking changes nothing; declare the fix when the program is changed."),
        measures=_KILLS,
    ),
    FixKind(
        id="tmpfs_size",
        title="Limit files that are kept in memory",
        precondition="A tmpfs (an emptyDir with medium Memory) fills the limit.",
        landing=Unseen("No collector source reads the volumes of a pod."),
        measures=_KILLS,
    ),
    FixKind(
        id="memory_high",
        title="Set memory.high",
        precondition="cgroup v2.",
        landing=Seen(
            "memory.high of the container, or of a neighbor that the evidence names, changes.",
            _HIGH,
            lambda before, after: any(differs(before, after, name) for name in _HIGH),
        ),
        measures=("memory_wait_ms_per_min", "oom_kills_per_h"),
    ),
)
