"""The newest burst of queries as a what-if: with a cap on concurrent queries, another limit, or more replicas."""

from __future__ import annotations

import math

from jitterscope.diagnosis.areas.memory.readings.query_waits import forward_blocks
from jitterscope.diagnosis.areas.memory.readings.waiting_queries import Burst
from jitterscope.diagnosis.areas.memory.whatif import query_burst as model
from jitterscope.diagnosis.areas.memory.whatif.load import from_snapshot, load_of
from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.core.whatif import Answer, Figure, Range, Settings, Suggestion, Trials, Tried, Value

_MIB = 1 << 20


def answer(snapshot: Snapshot, trials: Trials) -> Answer:
    """By the memory that each waiting query held in the recorded burst."""
    found = from_snapshot(snapshot)
    if isinstance(found, str):
        return Answer(cannot_tell=found)
    burst, limit = found
    load = load_of(burst, limit)
    most = max(burst.most, load.ceiling if math.isfinite(load.ceiling) else 0.0, 1000.0)
    now = load.limit_bytes if math.isfinite(load.limit_bytes) else 256.0 * _MIB
    suggested = _suggestions(snapshot, load)
    wanted = max((float(one.settings["limit_bytes"] or 0) for one in suggested if "limit_bytes" in one.settings),  # type: ignore[arg-type]
                 default=0.0)  # fmt: skip
    return Answer(
        settings={"limit_bytes": _finite(load.limit_bytes), "max_concurrent": None, "replicas": 1.0},
        figures=_measured(burst, load),
        tried=tuple(_tried(load, one) for one in trials.settings),
        suggestions=suggested,
        ranges={
            "max_concurrent": Range(50, 2 * most),
            "limit_bytes": Range(max(16.0 * _MIB, now / 4), max(8 * now, 2 * wanted)),
            "replicas": Range(1, 20),
        },
    )


def _suggestions(snapshot: Snapshot, load: model.MemoryLoad) -> tuple[Suggestion, ...]:
    """The suggestions keep a fifth of the limit free."""
    limited = math.isfinite(load.limit_bytes)
    cap = model.largest_cap(load, forward_blocks(snapshot)) if limited else 0
    needed, replicas = model.needed_limit(load), model.needed_replicas(load) if limited else None
    found = []
    if cap:
        found.append(Suggestion(f"max_concurrent {cap:,}", {"max_concurrent": float(cap)}))
    if needed is not None:
        mebibytes = math.ceil(needed / _MIB)
        found.append(Suggestion(f"Limit {mebibytes:,} MiB", {"limit_bytes": float(mebibytes * _MIB)}))
    if replicas is not None and replicas > 1:
        found.append(Suggestion(f"{replicas} replicas", {"replicas": float(replicas)}))
    return tuple(found)


def _measured(burst: Burst, load: model.MemoryLoad) -> tuple[Figure, ...]:
    low, expected, high = load.per_query_bytes
    return (
        Figure("base_bytes", "Memory without the burst", "bytes", load.base_bytes),
        Figure("per_query_bytes", "Memory per waiting query", "bytes", expected,
               Interval(low=low, expected=expected, high=high)),
        Figure("arrivals_per_s", "Queries in the burst", "1/s", burst.arrivals_per_s),
        Figure("most_waiting", "Queries waiting at once", "1", burst.most),
        Figure("usually_waiting", "Queries usually waiting", "1", burst.usual),
        Figure("limit_bytes", "Memory limit", "bytes", _finite(load.limit_bytes)),
    )  # fmt: skip


def _tried(load: model.MemoryLoad, given: Settings) -> Tried:
    cap, limit, replicas = (_number(given.get(name)) for name in ("max_concurrent", "limit_bytes", "replicas"))
    said = model.forecast(load, None if cap is None else int(cap), limit, int(replicas or 1))
    return Tried(
        settings={"limit_bytes": _finite(said.limit_bytes), "max_concurrent": cap, "replicas": replicas or 1.0},
        figures=(
            Figure("peak_bytes", "Peak memory", "bytes", interval=said.peak_bytes),
            Figure("seconds_to_oom", "Seconds to the OOM kill", "1", interval=said.seconds_to_oom),
            Figure("waiting", "Queries waiting at once", "1", _finite(said.waiting)),
            Figure("limit_bytes", "Memory limit", "bytes", _finite(said.limit_bytes)),
        ),
        outcome=_outcome(said),
        good=said.outcome == "survives",
    )


def _outcome(said: model.MemoryForecast) -> str:
    """ "killed after 1.8 to 2.5 s", "survives"."""
    if said.outcome == "survives":
        return "survives"
    seconds = said.seconds_to_oom
    after = "" if seconds is None else f" after {seconds.low:.2g} to {seconds.high:.2g} s"
    if said.outcome == "killed":
        return f"killed{after}"
    return f"might be killed{after} at the earliest" if after else "might be killed"


def _number(value: Value) -> float | None:
    return value if isinstance(value, float | int) else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
