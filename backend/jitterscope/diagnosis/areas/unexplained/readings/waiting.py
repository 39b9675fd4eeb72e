"""What the threads of a server waited in during a stall, as the flight recorder read it.

Many threads sleep in the same way at all times: pools wait for work in a futex, event loops in epoll. What counts is
how many more of them do so than while the server owes nothing. In a Go program, goroutines wait instead of threads:
threads in a futex are idle ones.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from jitterscope.diagnosis.areas.unexplained.readings.processes import serving
from jitterscope.diagnosis.areas.unexplained.readings.stalls import Stall
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import Event, Snapshot

KIND = "server.waiting"
# stopped, frozen (the freezer), traced (a debugger); disk: a disk or a file system; kernel: state D otherwise; running:
# on a CPU or ready to run; server: another server, over a socket; lock; sleep: a timer; events: epoll, accept, or a
# child; other.
Way = Literal[
    "stopped", "frozen", "traced", "disk", "kernel", "running", "server", "lock", "sleep", "events", "other",
]  # fmt: skip
# From the most to the least telling: threads behind one that waits for a disk wait for its lock.
TELLING: tuple[Way, ...] = (
    "stopped", "frozen", "traced", "disk", "kernel", "running", "server", "lock", "sleep",
)  # fmt: skip
HELD = frozenset({"stopped", "frozen", "traced"})
# Threads of an idle server are not in these: they tell without a comparison.
RARE = frozenset({"disk", "kernel", "running"})
# A stop holds all threads; of the other ways, a thread in half of the looks is enough.
MOST, ONE = 0.5, 0.5
# No collector reads so many threads.
MANY = 1e6
# The collector reads a moment after or before what the packets tell.
MARGIN_US = 5_000

_LOCKS = frozenset({"futex", "futex_waitv", "flock"})
_SLEEPS = frozenset({"nanosleep", "clock_nanosleep"})
_EVENTS = frozenset(
    {
        "epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect6", "accept", "accept4",
        "io_getevents", "io_uring_enter", "pause", "rt_sigsuspend", "rt_sigtimedwait", "wait4", "waitid",
    }
)  # fmt: skip
_FILES = frozenset(
    {
        "fsync", "fdatasync", "msync", "sync", "syncfs", "sync_file_range", "fallocate", "ftruncate", "getdents64",
        "io_submit", "newfstatat", "openat", "pread64", "preadv", "preadv2", "pwrite64", "pwritev", "pwritev2",
        "read", "readv", "renameat", "renameat2", "sendfile", "statx", "unlinkat", "write", "writev",
    }
)  # fmt: skip
_DISKS = (
    "io_schedule", "jbd2", "ext4", "xfs", "btrfs", "nfs", "rpc_", "fuse", "submit_bio", "blk_", "blkdev", "rq_qos",
    "folio_wait", "wait_on_page", "writeback", "balance_dirty", "dm_", "filemap",
)  # fmt: skip
_SOCKETS = ("tcp_", "inet_", "unix_", "sk_", "sock_", "wait_woken", "udp", "__skb_wait")
_FREEZERS = ("__refrigerator", "do_freezer_trap")


@dataclass(frozen=True, slots=True)
class Group:
    """Threads that waited in one way: `threads` of each look on average, `usual` of one while the server owed nothing.

    `detail` is the system call or kernel function of most of them; `usual` is None if that was not read.
    """

    way: Way
    threads: float
    usual: float | None
    detail: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """What `threads` (of `of` that the processes have) waited in, in `looks` looks.

    `told` is the way that explains a stall, None if they waited as at other times. `groups` has the telling ways first.
    """

    looks: int
    threads: float
    of: int
    groups: tuple[Group, ...]
    told: Group | None


def waiting(snapshot: Snapshot, found: Sequence[Stall]) -> Waiting | None:
    """What threads of the servers waited in during these stalls; None if it was not recorded."""
    events = [
        event
        for stall in found
        for event in stall.server.events
        if event.kind == KIND
        and event.start_us < stall.end_us + MARGIN_US
        and event.end_us >= stall.start_us - MARGIN_US
    ]
    looks = sum(int(number(event.attributes.get("looks")) or 0) for event in events)
    rows = [row for event in events for row in _rows(event, "waits")]
    if not looks or not rows:
        return None
    of = max(int(number(event.attributes.get("threads")) or 0) for event in events)
    is_go = any(one.fact("go.version") is not None for one in serving(snapshot, found[0].server))
    usual = _usual(events, is_go)
    groups = _groups(rows, looks, usual, is_go)
    threads = sum(one.threads for one in groups)
    return Waiting(looks, threads, max(of, round(threads)), groups, _told(groups, threads))


@dataclass(frozen=True, slots=True)
class _Row:
    state: str
    call: str
    place: str
    times: float
    frames: tuple[str, ...]


def _rows(event: Event, name: str) -> list[_Row]:
    """The rows of an attribute; what is malformed is left out."""
    try:
        listed = json.loads(event.attributes.get(name, "[]"))
        rows = [
            _Row(str(state), str(call), str(place), float(times), tuple(map(str, frames)))
            for state, call, place, times, frames in listed
        ]
        return [one for one in rows if 0 < one.times < MANY]
    except (TypeError, ValueError, RecursionError):
        return []


def _usual(events: Iterable[Event], is_go: bool) -> Counter[Way] | None:
    """Threads by way while the server owed nothing, from the newest event that has them."""
    for event in sorted(events, key=lambda one: -one.start_us):
        if rows := _rows(event, "usual"):
            found: Counter[Way] = Counter()
            for row in rows:
                found[_way(row, is_go)] += round(row.times)
            return found
    return None


def _groups(rows: Iterable[_Row], looks: int, usual: Counter[Way] | None, is_go: bool) -> tuple[Group, ...]:
    times: defaultdict[Way, float] = defaultdict(float)
    details: defaultdict[Way, Counter[str]] = defaultdict(Counter)
    for row in rows:
        way = _way(row, is_go)
        times[way] += row.times
        details[way][_detail(way, row)] += round(row.times)
    found = [
        Group(way, count / looks, None if usual is None else float(usual[way]), details[way].most_common(1)[0][0])
        for way, count in times.items()
    ]
    order = {way: place for place, way in enumerate(TELLING)}
    return tuple(sorted(found, key=lambda one: (order.get(one.way, len(order)), -one.threads)))


def _told(groups: Sequence[Group], threads: float) -> Group | None:
    """The first way that more threads wait in than usual. Threads that usually run can be idle now."""
    running = next((one.usual for one in groups if one.usual is not None and one.way == "running"), None) or 0.0
    for one in groups:
        if one.way in HELD:
            is_told = one.threads >= MOST * threads
        else:
            is_compared = one.usual is not None or one.way in RARE or len(groups) == 1
            is_told = one.way in TELLING and is_compared and one.threads - (one.usual or 0.0) - running >= ONE
        if is_told:
            return one
    return None


def _way(row: _Row, is_go: bool) -> Way:
    seen = (row.place, *row.frames)
    if any(one in _FREEZERS for one in seen):
        return "frozen"
    if row.state in "Tt":
        return "stopped" if row.state == "T" else "traced"
    if row.state == "R":
        return "running"
    if row.state == "D":
        on_disk = row.call in _FILES or any(word in one for one in seen for word in _DISKS)
        return "disk" if on_disk else "kernel"
    if row.call in _LOCKS or any("locks_lock" in one or "flock_lock" in one for one in seen):
        return "events" if is_go else "lock"
    if row.call in _SLEEPS:
        return "events" if is_go else "sleep"
    if row.call in _EVENTS:
        return "events"
    if any(one.startswith(_SOCKETS) for one in seen):
        return "server"
    return "other"


def _detail(way: Way, row: _Row) -> str:
    """What to look up: the call for what a program asks for, the kernel's function for what the kernel does."""
    if way in ("disk", "kernel"):
        return row.place or row.call
    return row.call if row.call not in ("", "?") else row.place
