"""Fixes for a memory limit that is reached: a higher one, a soft limit for the Go heap, and finding what grows."""

from __future__ import annotations

from jitterscope.diagnosis import corefile, golang
from jitterscope.diagnosis import wording as say
from jitterscope.diagnosis.finding import Fix, FixSetting, Patch
from jitterscope.diagnosis.fixes import patches, patches_memory
from jitterscope.diagnosis.memory_queries import Burst
from jitterscope.diagnosis.memory_signals import Growth, Memory
from jitterscope.diagnosis.signals import number
from jitterscope.diagnosis.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.whatif.memory import MARGIN, forecast, needed_limit
from jitterscope.diagnosis.whatif.memory_load import load_of

LIMITS = "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"
CGROUP = "https://docs.kernel.org/admin-guide/cgroup-v2.html#memory"
GUIDE = "https://go.dev/doc/gc-guide#Memory_limit"
VERIFY = "memory.events (v1: memory.oom_control) counts no further oom_kill, and this incident closes."
# Share of the limit for GOMEMLIMIT: what the runtime does not count (sockets, kernel memory) needs the rest.
SOFT = 0.8
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
                f"Up to {burst.ceiling:,.0f} queries can wait at once, at {load.per_query_bytes[1] / 1024:,.1f} KiB "
                f"and as much garbage again, beside {say.mebibytes(load.base_bytes)}; a fifth is left free.",
                ["A larger burst, or an upstream that is slower still, needs more: bound what waits as well."],
            )
        )  # fmt: skip
    elif needed is None:
        fixes.append(
            _raise(
                snapshot, memory.owner, 2 * limit, limit, "reduces",
                "Nothing bounds how many queries wait, so no limit is enough for certain: twice as much takes about "
                "twice as long to fill.",
                ["Bound what waits first (max_concurrent)."],
            )
        )  # fmt: skip
    return [*fixes, *_soft_limit(snapshot, limit, leak=False)]


def for_growth(snapshot: Snapshot, memory: Memory, rise: Growth | None, limit: float, *, in_files: bool) -> list[Fix]:
    """Find what grows; meanwhile a higher limit, with the time that it buys."""
    fixes = [_files(limit)] if in_files else [*_cache_capacity(snapshot), _profile(snapshot)]
    bought = ""
    caveats = ["If it is a leak, it fills any limit: this buys time, no more."]
    if rise is not None and rise.rate > 0:
        bought = f" At {rise.rate / (1 << 20):,.2f} MiB/s that is {_time(limit / rise.rate)} more."
    fixes.append(
        _raise(snapshot, memory.owner, 2 * limit, limit, "reduces",
               f"Twice the limit, for a start.{bought}", caveats)
    )  # fmt: skip
    if not in_files:
        fixes += _soft_limit(snapshot, limit, leak=True)
    fixes.append(_memory_high(snapshot, memory, limit))
    return fixes


def _raise(
    snapshot: Snapshot, owner: ResourceView, wanted: float, limit: float, verdict: str, why: str, caveats: list[str]
) -> Fix:  # fmt: skip
    texts, undo = patches_memory.memory_limit(snapshot, owner, wanted, limit)
    new = patches_memory.mebibytes(wanted)
    node = number(snapshot.node.fact("node.memory_bytes"))
    if node is not None and wanted > 0.5 * node:
        caveats = [*caveats, f"The node has {say.mebibytes(node)}: check that it can spare that."]
    if patches.manager(snapshot) == "kubernetes":
        caveats = [*caveats, patches.IN_PLACE]
    return Fix(
        id="raise_memory_limit",
        title=f"Raise the memory limit from {say.mebibytes(limit)} to {new} MiB",
        summary=why,
        verdict="removes" if verdict == "removes" else "reduces",
        patches=texts,
        caveats=caveats,
        verify=VERIFY,
        undo=undo,
        references=[LIMITS, CGROUP],
    )


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def _soft_limit(snapshot: Snapshot, limit: float, *, leak: bool) -> list[Fix]:
    """GOMEMLIMIT below the limit: garbage goes before the kernel kills; what is in use stays."""
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
                summary="Go has it from 1.19 on; this program was built with an older one.",
                verify=VERIFY, undo="Nothing to undo.", references=[GUIDE],
            )
        ]  # fmt: skip
    texts, undo = patches.environment(snapshot, {"GOMEMLIMIT": f"{wanted}MiB"})
    what = "a leak" if leak else "queries that wait"
    return [
        Fix(
            id="gomemlimit",
            title=f"GOMEMLIMIT={wanted}MiB",
            summary=f"The runtime then collects before memory reaches {wanted} MiB, so that garbage is not what fills "
            f"the limit. What is in use stays: {what} still fill{'s' if leak else ''} it, a little later.",
            verdict="reduces",
            setting=FixSetting(gomemlimit_bytes=wanted << 20),
            patches=texts,
            caveats=["Where what is in use reaches it, the program collects garbage all the time (golang/go#58106)."],
            verify=VERIFY,
            undo=undo,
            references=[GUIDE, "https://github.com/golang/go/issues/58106"],
        )
    ]


def _cache_capacity(snapshot: Snapshot) -> list[Fix]:
    """A CoreDNS cache that may keep far more answers than it does by default."""
    for server in snapshot.dns_servers:
        for block in corefile.parse(server.fact("dns.corefile")):
            plugin = block.plugin("cache")
            options = [] if plugin is None else plugin.options
            sizes = [o[1] for o in options if len(o) > 1 and o[0] in ("success", "denial") and o[1].isdecimal()]
            kept = max(map(int, sizes), default=0)
            if kept < 10 * DEFAULT_CAPACITY:
                continue
            return [
                Fix(
                    id="cache_capacity",
                    title=f"Bound the cache: {DEFAULT_CAPACITY:,} answers in place of {kept:,}",
                    summary=f"The cache of {' '.join(block.keys)} may keep {kept:,} answers for as long as they live: "
                    "with many different names memory grows until it is full of them.",
                    verdict="reduces",
                    patches=[
                        Patch(
                            label="Corefile",
                            language="corefile",
                            text=f"cache 30 {{\n    success {DEFAULT_CAPACITY}\n    denial {DEFAULT_CAPACITY}\n}}",
                        )
                    ],
                    caveats=["Whether it is the cache that grows tells coredns_cache_entries of the metrics page."],
                    verify=VERIFY,
                    undo=f"Set the capacity to {kept} again and reload.",
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
        title="Find what grows",
        summary="No setting removes a leak: two pictures of the program's memory, some time apart, name what is kept.",
        verdict="unknown",
        patches=[patch],
        verify="Memory without page cache stays level over the time in which it filled the limit.",
        undo="Nothing to undo.",
        references=references,
    )


def _files(limit: float) -> Fix:
    text = "emptyDir:\n  medium: Memory\n  sizeLimit: " + f"{int(0.5 * limit) >> 20}Mi"
    return Fix(
        id="tmpfs_size",
        title="Bound what is kept in memory as files",
        summary="Files on a tmpfs count against the limit and are not given back. Keep them on a disk, or bound them.",
        verdict="removes",
        precondition="What fills it is a tmpfs (df -t tmpfs in the container)",
        patches=[Patch(label="Volume of the pod", language="yaml", text=text)],
        verify=VERIFY,
        undo="Set the old volume again.",
        references=["https://kubernetes.io/docs/concepts/storage/volumes/#emptydir"],
    )


def _memory_high(snapshot: Snapshot, memory: Memory, limit: float) -> Fix:
    """A well-known one that does not help where nothing can be given back."""
    return Fix(
        id="memory_high",
        title="memory.high below the limit",
        verdict="cannot_help",
        summary=f"Above {say.percent(1 - MARGIN)} of {say.mebibytes(limit)} it would slow the program down so that it "
        "gives memory back. There is nothing to give back here, so it stands still in place of being killed.",
        verify="Nothing to see.",
        undo="Nothing to undo.",
        references=[CGROUP],
    )
