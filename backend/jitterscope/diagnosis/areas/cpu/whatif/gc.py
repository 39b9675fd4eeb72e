"""How often Go collects, and what a cycle costs, under another GOGC, GOMEMLIMIT, or GOMAXPROCS.

Pacing (https://go.dev/doc/gc-guide; runtime/mgcpacer.go, `gcControllerCommit`, `memoryLimitHeapGoal`): a cycle starts
when the heap reaches live × (1 + GOGC / 100), or what GOMEMLIMIT leaves for the heap if that is less. At a constant
allocation rate, the time between cycles is proportional to goal − live. A goal near the live heap causes a spiral of
cycles; the runtime then limits GC to half of GOMAXPROCS (runtime/mgclimit.go), so the next cycle waits.

CPU of a cycle: marking depends on the live heap, not on the settings. A quarter of GOMAXPROCS always marks; idle Ps
join in (`gcController.findRunnableGCWorker`). If a quarter is no whole number of workers (GOMAXPROCS 1, 2, 3, 6), the
rest is marked by fractional workers, which go by wall time: after a stall they may be behind, and run before the
queries (`gcDrainFractional`). About half of the stalls fall into their own time, as far as gctrace shows (case 1), and
count.

Limits: stacks and globals count as live heap; a live heap that depends on the load is taken as constant; Go < 1.19 has
no GOMEMLIMIT.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jitterscope.diagnosis.areas.cpu.whatif.types import Setting, Trace

UTILIZATION = 0.25  # gcBackgroundUtilization
LIMITER = 0.5  # the maximum share of GOMAXPROCS for GC in the long run
_HEADROOM = 0.03  # memoryLimitHeapGoalHeadroomPercent
_OTHER_BYTES = 10 << 20  # the runtime's own memory, stacks, fragmentation
_OTHER_RATIO = 0.06
_LEAST_HEAP = 4 << 20  # heapMinimum at GOGC=100
_BEHIND = 0.5
_MEASURED, _ESTIMATED = 0.12, 0.35


@dataclass(frozen=True, slots=True)
class Pacing:
    """`ratio`: cycles then relative to cycles now, with a lognormal `spread`; None if unknown (`why`)."""

    ratio: float | None
    spread: float = 0.0
    why: str | None = None
    notes: tuple[str, ...] = ()
    spiral: bool = False


def pacing(trace: Trace, setting: Setting, cycle_cost_us: float) -> Pacing:
    """`cycle_cost_us`: CPU of one cycle, for the limiter of a spiral."""
    now = trace.setting
    if (setting.gogc, setting.gomemlimit_bytes) == (now.gogc, now.gomemlimit_bytes):
        return Pacing(1.0)
    if not trace.is_go:
        return Pacing(None, why="No Go program was seen here, so GOGC and GOMEMLIMIT have no known effect.")
    if setting.gogc is None and setting.gomemlimit_bytes is None:
        return Pacing(0.0, notes=("Without GOGC and GOMEMLIMIT no GC runs: the heap grows until memory is used up.",))
    if not trace.gc:
        return _unseen(trace, setting)
    if setting.gomemlimit_bytes is None and now.gomemlimit_bytes is None:
        # Only growth determines the pace: the live heap cancels out.
        return Pacing(float(now.gogc or 100.0) / float(setting.gogc or 100.0), 0.05)
    live = trace.heap_live_bytes
    if live is None:
        return Pacing(
            None, why="How often Go collects under GOMEMLIMIT depends on the live heap, which is not measured."
        )
    before, after = _growth(live, now), _growth(live, setting)
    notes: list[str] = []
    least = _limiter_growth(trace, setting, before, cycle_cost_us)
    spiral = after < least
    if spiral:
        notes.append("GOMEMLIMIT leaves the live heap no room: GC would run all the time (a GC spiral).")
    ratio = before / max(after, least)
    spread = (_MEASURED if trace.heap_measured else _ESTIMATED) * (1.0 + live / max(after, 0.2 * live))
    seconds = _interval_s(trace) / ratio if ratio > 0 else math.inf
    if ratio < 0.5:
        notes.append(
            f"One cycle about every {seconds:,.0f} s instead of every {_interval_s(trace):,.0f} s. Each one stalls "
            "as long as before."
        )
    return Pacing(ratio, min(spread, 1.0), notes=tuple(notes), spiral=spiral)


def goes_first_cpus(cpus: float) -> float:
    """CPUs that marking takes before queries do: dedicated workers, plus fractional ones for a fractional part."""
    wanted = UTILIZATION * cpus
    dedicated = math.floor(wanted + 0.5)
    if dedicated and abs(wanted / dedicated - 1) <= 0.3:
        return float(dedicated)
    return _BEHIND * wanted


def _unseen(trace: Trace, setting: Setting) -> Pacing:
    now = trace.setting
    rarer = (setting.gogc is None or (now.gogc is not None and setting.gogc >= now.gogc)) and (
        setting.gomemlimit_bytes is None
        or (now.gomemlimit_bytes is not None and setting.gomemlimit_bytes >= now.gomemlimit_bytes)
    )
    if rarer and trace.gc_exact:
        return Pacing(0.0)
    return Pacing(None, why="No GC cycle was recorded, so the effect of more or fewer cycles is unknown.")


def _growth(live: float, setting: Setting) -> float:
    """Bytes allocated between two cycles."""
    goal = math.inf
    if setting.gogc is not None:
        goal = max(live * (1 + setting.gogc / 100), _LEAST_HEAP * setting.gogc / 100)
    if setting.gomemlimit_bytes is not None:
        room = setting.gomemlimit_bytes * (1 - _HEADROOM) - _OTHER_BYTES - _OTHER_RATIO * live
        goal = min(goal, room)
    return max(goal - live, 0.002 * live)


def _limiter_growth(trace: Trace, setting: Setting, before: float, cycle_cost_us: float) -> float:
    """Growth between cycles when the limiter spaces them: a cycle's CPU is at most half of GOMAXPROCS over time."""
    cpus = min(float(setting.gomaxprocs or 1), setting.cpu_limit or math.inf)
    seconds = cycle_cost_us / 1e6 / (LIMITER * max(cpus, 0.01))
    return before * seconds / max(_interval_s(trace), 1e-3)


def _interval_s(trace: Trace) -> float:
    """Time between cycles, s."""
    if len(trace.gc) >= 2:
        return (trace.gc[-1].start_us - trace.gc[0].start_us) / 1e6 / (len(trace.gc) - 1)
    return trace.seconds / max(1, len(trace.gc))
