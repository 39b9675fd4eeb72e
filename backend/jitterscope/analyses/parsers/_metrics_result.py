"""Facts about garbage collection from metrics pages, and which of the pages belong together."""

from __future__ import annotations

from collections.abc import Sequence

from jitterscope.analyses.parser import Parsed
from jitterscope.analyses.parsers._metrics_dns import dns_facts
from jitterscope.analyses.parsers._metrics_page import Page, same_process, seconds_between
from jitterscope.analyses.report import Fact, Table
from jitterscope.analyses.wording import duration, plural, size

_SHOWN = 50


def conclude(pages: Sequence[Page], left_out: int) -> Parsed:
    """Facts of the last page, what changed since an earlier one of the same process, and one row per page."""
    if not pages:
        return Parsed(summary="no metrics", areas=("dns", "cpu"))
    last = pages[-1]
    earlier = next((page for page in pages[:-1] if same_process(page, last)), None)
    several = len({page.pid for page in pages if page.pid is not None}) > 1
    facts: list[Fact] = []
    for number, page in enumerate(pages[-4:], start=max(1, len(pages) - 3)):
        # The last page of a process contains everything; other processes are reported separately.
        if page is last or not any(same_process(page, later) for later in pages[number:]):
            suffix = "" if len(pages) == 1 else f", page {number}" + (f", PID {page.pid}" if page.pid else "")
            facts += _go_facts(page, suffix, "" if len(pages) == 1 else f"_{number}")
    facts += dns_facts(last, earlier)
    if earlier is not None:
        facts += _growth(earlier, last)
    notes = ["Counters since the start of the process have no time axis: they show how often, not when."]
    if last.gc_cycles is not None and last.total("process_start_time_seconds") is None and earlier is None:
        notes.append("The interval between GC cycles needs process_start_time_seconds or a second page.")
    if several:
        notes.append("The pages belong to different processes.")
    if left_out:
        notes.append(f"{plural(left_out, 'page')} were not read.")
    return Parsed(
        summary=_summary(pages, last),
        facts=facts,
        tables=[_table(pages)] if any(page.gc_cycles is not None for page in pages) else [],
        notes=notes,
        areas=("dns", "cpu")
        if last.total("coredns_dns_requests_total", "coredns_dns_request_count_total")
        else ("cpu",),
        from_us=min((page.at_us for page in pages if page.at_us is not None), default=None),
        to_us=max((page.at_us for page in pages if page.at_us is not None), default=None),
    )


def _summary(pages: Sequence[Page], last: Page) -> str:
    says = plural(len(pages), "page") + " of metrics"
    if last.gc_cycles is not None:
        says += f", {plural(last.gc_cycles, 'GC cycle')} so far"
    return says


def _go_facts(page: Page, suffix: str, id_suffix: str) -> list[Fact]:
    facts = []
    cycles, paused_s = page.gc_cycles, page.total("go_gc_duration_seconds_sum")
    if cycles is not None:
        numbers = {"gc_cycles": cycles}
        median = page.where("go_gc_duration_seconds", quantile="0.5")
        longest = page.where("go_gc_duration_seconds", quantile="1")
        parts = []
        if median is not None:
            numbers["pause_p50_us"] = median * 1e6
            parts.append(f"median of the last pauses {duration(median * 1e6)}")
        if longest is not None:
            numbers["pause_max_us"] = longest * 1e6
            parts.append(f"the longest {duration(longest * 1e6)}")
        if paused_s is not None and cycles:
            numbers["pause_mean_us"] = paused_s / cycles * 1e6
            parts.append(f"{duration(paused_s / cycles * 1e6)} on average over all")
        facts.append(
            Fact(
                id=f"gc_cycles{id_suffix}", label=f"GC cycles{suffix}", value=f"{cycles:,.0f}",
                detail=("Stop-the-world: " + ", ".join(parts) + ". Marking runs concurrently and uses "
                        "a quarter of GOMAXPROCS or more.") if parts else None,
                numbers=numbers,
            )
        )  # fmt: skip
    facts += _interval(page, suffix, id_suffix)
    heap, goal = page.total("go_memstats_heap_alloc_bytes"), page.total("go_memstats_next_gc_bytes")
    if goal is not None:
        gogc = page.total("go_gc_gogc_percent")
        live = goal / (1 + (100.0 if gogc is None else gogc) / 100) if gogc is None or 0 < gogc < 1e6 else None
        facts.append(
            Fact(
                id=f"heap{id_suffix}", label=f"Heap{suffix}",
                value=("" if heap is None else f"{size(heap)} now, ") + f"the next GC starts at {size(goal)}",
                detail=None if live is None else f"About {size(live)} stayed alive after the last GC"
                + (", if GOGC is at its default of 100." if gogc is None else f" (GOGC {gogc:.0f})."),
                numbers={"next_gc_bytes": goal} | ({} if heap is None else {"heap_alloc_bytes": heap})
                | ({} if live is None else {"heap_live_bytes": live}),
            )
        )  # fmt: skip
    procs, version = page.total("go_sched_gomaxprocs_threads"), page.label("go_info", "version")
    if version or procs is not None:
        says = [text for text in (version, None if procs is None else f"GOMAXPROCS {procs:.0f}") if text]
        facts.append(
            Fact(
                id=f"go{id_suffix}", label=f"Go runtime{suffix}", value=", ".join(says),
                numbers={} if procs is None else {"gomaxprocs": procs},
            )
        )  # fmt: skip
    return facts


def _interval(page: Page, suffix: str, id_suffix: str) -> list[Fact]:
    """Mean time between cycles, from the process's start to its last cycle."""
    started, last = page.total("process_start_time_seconds"), page.total("go_memstats_last_gc_time_seconds")
    cycles = page.gc_cycles
    if started is None or last is None or not cycles or last <= started:
        return []
    apart_us = (last - started) / cycles * 1e6
    return [
        Fact(
            id=f"gc_interval{id_suffix}", label=f"Interval between GC cycles{suffix}",
            value=f"{duration(apart_us)} on average", numbers={"interval_us": apart_us},
        )
    ]  # fmt: skip


def _growth(before: Page, after: Page) -> list[Fact]:
    grown = (after.gc_cycles or 0) - (before.gc_cycles or 0)
    seconds = seconds_between(before, after)
    if after.gc_cycles is None:
        return []
    gone = before.total("go_memstats_last_gc_time_seconds"), after.total("go_memstats_last_gc_time_seconds")
    if grown > 0 and gone[0] is not None and gone[1] is not None and gone[1] > gone[0]:
        apart_us = (gone[1] - gone[0]) / grown * 1e6  # between cycles: exact, whenever the pages were scraped
    elif grown > 0 and seconds is not None:
        apart_us = seconds / grown * 1e6
    else:
        apart_us = None
    return [
        Fact(
            id="gc_growth", label="GC cycles between the first and the last page",
            value=f"{grown:,.0f}" + ("" if apart_us is None else f", one every {duration(apart_us)}"),
            numbers={"gc_cycles": grown} | ({} if apart_us is None else {"interval_us": apart_us}),
        )
    ]  # fmt: skip


def _table(pages: Sequence[Page]) -> Table:
    rows: list[list[str | float | None]] = []
    for number, page in enumerate(pages[-_SHOWN:], start=max(1, len(pages) - _SHOWN + 1)):
        median = page.where("go_gc_duration_seconds", quantile="0.5")
        longest = page.where("go_gc_duration_seconds", quantile="1")
        heap, goal = page.total("go_memstats_heap_alloc_bytes"), page.total("go_memstats_next_gc_bytes")
        rows.append(
            [
                float(number), None if page.pid is None else str(page.pid), page.gc_cycles,
                None if median is None else round(median * 1e6, 1),
                None if longest is None else round(longest * 1e6, 1),
                None if heap is None else round(heap / 1e6, 1), None if goal is None else round(goal / 1e6, 1),
            ]
        )  # fmt: skip
    columns = ["page", "PID", "GC cycles", "median pause (µs)", "longest pause (µs)", "heap (MB)", "next GC at (MB)"]
    return Table(
        id="pages", title="Garbage collection", columns=columns, rows=rows, left_out=max(0, len(pages) - _SHOWN)
    )
