"""What the threads of a stalled server waited in: which way explains the stall, and how it is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from jitterscope.diagnosis.areas.unexplained.readings.stalls import stalls
from jitterscope.diagnosis.areas.unexplained.readings.waiting import Waiting, Way, waiting
from jitterscope.diagnosis.areas.unexplained.readings.whereabouts import accounts
from jitterscope.diagnosis.core.engine import detect
from jitterscope.diagnosis.core.finding import Found
from jitterscope.diagnosis.core.snapshot import Event, FactValue, Snapshot
from jitterscope.diagnosis.scenarios.cpu.views import without
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US
from jitterscope.diagnosis.scenarios.unexplained.simulate import Hold, Kind, Service, simulate

# (state, system call, kernel function, threads[, kernel frames])
Row = tuple[str, str, str, int] | tuple[str, str, str, int, list[str]]
POOL: list[Row] = [("S", "epoll_wait", "do_epoll_wait", 1), ("S", "futex", "futex_do_wait", 15)]


def held(kind: Kind = "stopped", **load: object) -> Snapshot:
    return simulate(replace(Service(holds=(Hold(20.03, 0.3, kind),), seconds=40.0), **load))  # type: ignore[arg-type]


def event(rows: Sequence[Row], usual: Sequence[Row] | None = POOL, looks: int = 4) -> Event:
    def text(listed: Sequence[Row], times: int) -> str:
        return json.dumps([[*row[:3], row[3] * times, row[4] if len(row) > 4 else []] for row in listed])

    attributes = {"looks": str(looks), "read": "0", "threads": "16", "waits": text(rows, looks)}
    if usual is not None:
        attributes["usual"] = text(usual, 1)
    return Event("server.waiting", EPOCH_US + 20_080_000, 150_000, attributes)


def seen(snapshot: Snapshot, *events: Event) -> Snapshot:
    (server,) = snapshot.tcp_servers
    return replace(snapshot, tcp_servers=(replace(server, events=events),))


def read(snapshot: Snapshot) -> Waiting | None:
    return waiting(snapshot, stalls(snapshot).clear)


def told(snapshot: Snapshot) -> Found:
    (found,) = detect(snapshot).findings
    return found


@pytest.mark.parametrize(
    ("rows", "way", "threads"),
    [
        ([("T", "futex", "do_signal_stop", 15), ("T", "epoll_wait", "do_signal_stop", 1)], "stopped", 16),
        ([("D", "futex", "__refrigerator", 16)], "frozen", 16),
        ([("S", "futex", "do_freezer_trap", 16)], "frozen", 16),
        ([("t", "futex", "ptrace_stop", 16)], "traced", 16),
        ([("D", "fsync", "jbd2_log_wait_commit", 1), ("S", "futex", "futex_do_wait", 15)], "disk", 1),
        ([("D", "", "folio_wait_bit_common", 1), ("S", "futex", "futex_do_wait", 15)], "disk", 1),
        ([("D", "mmap", "vm_mmap_pgoff", 16)], "kernel", 16),
        ([("D", "openat", "walk_component", 2), ("S", "futex", "futex_do_wait", 14)], "disk", 2),
        ([("S", "futex", "futex_do_wait", 16)], "lock", 16),
        ([("S", "recvfrom", "wait_woken", 3), *POOL], "server", 3),
        ([("S", "read", "wait_woken", 3, ["wait_woken", "sk_wait_data", "tcp_recvmsg"]), *POOL], "server", 3),
        ([("S", "clock_nanosleep", "hrtimer_nanosleep", 1), ("S", "futex", "futex_do_wait", 15)], "sleep", 1),
        ([("R", "?", "", 1), ("S", "futex", "futex_do_wait", 15)], "running", 1),
    ],
)  # fmt: skip
def test_ways_to_wait(rows: list[Row], way: Way, threads: float) -> None:
    found = read(seen(held(), event(rows)))
    assert found is not None
    assert found.told is not None
    assert (found.told.way, found.told.threads, found.looks) == (way, threads, 4)


def test_threads_that_wait_as_always_explain_nothing() -> None:
    """A pool that waits for work looks like one that waits for a lock."""
    found = read(seen(held(), event(POOL)))
    assert found is not None
    assert found.told is None
    unknown = read(seen(held(), event(POOL, usual=None)))
    assert unknown is not None
    assert unknown.told is None


def test_threads_that_usually_run_can_be_idle() -> None:
    usual: list[Row] = [("R", "?", "", 2), ("S", "futex", "futex_do_wait", 14)]
    found = read(seen(held(), event([("R", "?", "", 1), ("S", "futex", "futex_do_wait", 15)], usual)))
    assert found is not None
    assert found.told is None


def test_a_lone_thread_tells_without_a_comparison() -> None:
    snapshot = seen(held("lock"), event([("S", "futex", "futex_do_wait", 1)], usual=None))
    found = read(snapshot)
    assert found is not None
    assert found.told is not None
    assert found.told.way == "lock"
    assert told(snapshot).title.endswith("its only thread waited for a lock (futex)")


def test_threads_of_a_go_program_in_a_futex_are_idle() -> None:
    snapshot = seen(held("lock"), event([("S", "futex", "futex_do_wait", 16)]))
    (process,) = snapshot.processes
    go = replace(process, facts=(*process.facts, FactValue("go.version", "1.25.1", EPOCH_US)))
    found = read(replace(snapshot, processes=(go,)))
    assert found is not None
    assert found.told is None


def test_only_what_was_read_during_the_stall_counts() -> None:
    late = replace(event([("T", "futex", "do_signal_stop", 16)]), start_us=EPOCH_US + 25_000_000)
    assert read(seen(held(), late)) is None


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", '[["S"]]', '[["S","futex","",null,[]]]', '[["S","futex","",NaN,[]]]', "[" * 5000]
)
def test_malformed_rows_are_ignored(text: str) -> None:
    broken = Event("server.waiting", EPOCH_US + 20_080_000, 0, {"looks": "3", "threads": "4", "waits": text})
    assert read(seen(held(), broken)) is None


@pytest.mark.parametrize(
    ("rows", "title", "value"),
    [
        ([("S", "futex", "futex_do_wait", 14), ("S", "epoll_wait", "do_epoll_wait", 2)],
         "14 of 16 threads waited for a lock (futex)", "14 of 16, 4 looks"),
        ([("T", "futex", "do_signal_stop", 16)], "all 16 threads were stopped by a signal", "16 of 16, 4 looks"),
        ([("D", "fsync", "jbd2_log_wait_commit", 1), ("S", "futex", "futex_do_wait", 15)],
         "1 of 16 threads waited for a disk or file system (jbd2_log_wait_commit)", "1 of 16, 4 looks"),
    ],
)  # fmt: skip
def test_title_summary_and_evidence_count_threads(rows: list[Row], title: str, value: str) -> None:
    idle: list[Row] = [("S", "epoll_wait", "do_epoll_wait", 4), ("S", "futex", "futex_do_wait", 12)]
    found = told(seen(held("lock"), event(rows, idle)))
    assert found.title.endswith(f": {title}")
    assert f"{title[0].upper()}{title[1:]} in 4 looks at its threads during the stalls." in found.summary
    (first, *_) = [one for one in found.evidence if one.id.startswith("threads_")]
    assert first.value == value
    assert first.numbers["looks"] == 4


def test_what_was_not_observed_makes_it_less_certain() -> None:
    assert told(held("lock")).confidence == "high"
    assert told(held("lock", watched=False)).confidence == "medium"
    idle = told(seen(held("lock"), event(POOL)))
    assert idle.confidence == "medium"
    assert "as they do when idle" in idle.summary


def test_threads_show_that_a_program_slept_where_its_cpu_time_is_not_recorded() -> None:
    snapshot = held("stopped")
    for metric in ("process_cpu_us", "cpu_usage_us"):
        snapshot = without(snapshot, metric)
    (account,) = accounts(snapshot)
    assert account.where == "socket"
    (server,) = snapshot.tcp_servers
    blind = replace(snapshot, tcp_servers=(replace(server, events=()),))
    (account,) = accounts(blind)
    assert account.where == "unknown"
