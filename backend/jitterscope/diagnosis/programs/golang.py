"""What the facts say about a Go process: parallel threads, memory limit, versions.

Sources: go.dev/doc/gc-guide, runtime/cgroup_linux.go (Go 1.25), go.uber.org/automaxprocs.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import ResourceView

# From this share of GOMEMLIMIT on, the limit makes the runtime start cycles.
NEAR = 0.85
_SUFFIX = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


@dataclass(frozen=True, slots=True)
class MaxProcs:
    """GOMAXPROCS in effect; None if unknown. `why` says what set it."""

    value: int | None
    why: str
    from_environment: bool


def version(text: str | None) -> tuple[int, ...]:
    """(1, 25, 3) of "go1.25.3" or "6.1.0-13-cloud"; () if there is none."""
    match = re.match(r"(?:go|v)?(\d+)\.(\d+)(?:\.(\d+))?", text or "")
    return tuple(int(part) for part in match.groups() if part is not None) if match else ()


def memory_limit_bytes(process: ResourceView) -> int | None:
    """GOMEMLIMIT of the environment in bytes; None: unset, "off" or unreadable."""
    return memory_bytes(process.fact("go.env.GOMEMLIMIT"))


def memory_bytes(text: str | None) -> int | None:
    """A GOMEMLIMIT ("48MiB") in bytes; None: unset, "off" or unreadable."""
    match = re.fullmatch(r"(\d+)(B|[KMGT]iB|)", (text or "").strip())
    return int(match[1]) * _SUFFIX[match[2]] if match else None


def gogc(process: ResourceView) -> int | None:
    """GOGC in percent (default 100); None: collection by heap growth is off."""
    text = (process.fact("go.env.GOGC") or "").strip()
    if text == "off":
        return None
    value = number(text or None)
    return 100 if value is None else None if value < 0 else int(value)


def container_aware(process: ResourceView) -> bool:
    """Whether the runtime itself follows the CPU limit (Go 1.25 with a go.mod of at least that language version)."""
    if version(process.fact("go.version")) < (1, 25):
        return False
    settings: dict[str, str] = {}
    for source in ("go.default_godebug", "go.env.GODEBUG"):
        for part in (process.fact(source) or "").split(","):
            key, _, value = part.partition("=")
            settings[key.strip()] = value.strip()
    return settings.get("containermaxprocs", "1") != "0"


def maxprocs(process: ResourceView, limit: float, node_cpus: float | None) -> MaxProcs:
    """GOMAXPROCS in effect under a CPU limit of the process's own cgroup (inf: none)."""
    cpus = number(process.fact("process.affinity_cpus")) or node_cpus
    by_env = number(process.fact("go.env.GOMAXPROCS"))
    explicit = by_env is not None and by_env >= 1
    why = "set in the environment" if explicit else default_reason(process, limit)
    known = number(process.fact("go.gomaxprocs"))
    if known is not None and known >= 1:
        return MaxProcs(int(known), why, explicit)
    if explicit and by_env is not None:
        return MaxProcs(int(by_env), why, True)
    value = default_maxprocs(process, limit, cpus)
    return MaxProcs(value, why, False)


def default_reason(process: ResourceView, limit: float) -> str:
    if not math.isfinite(limit):
        return "one per CPU of the node"
    if process.fact("go.automaxprocs"):
        return "automaxprocs rounds the limit down"
    if container_aware(process):
        return "Go ≥ 1.25 rounds the limit up, never below 2"
    return "one per CPU of the node"


def default_maxprocs(process: ResourceView, limit: float, cpus: float | None) -> int | None:
    """The value that this build uses with GOMAXPROCS unset. It does not read limits of the cgroups above its own."""
    if process.fact("go.automaxprocs") and math.isfinite(limit):
        return max(1, int(limit))
    if cpus is None:
        return None
    if container_aware(process) and math.isfinite(limit):
        return int(min(cpus, max(2, math.ceil(limit))))
    return int(cpus)


def counted_memory_bytes(cgroup: ResourceView, process: ResourceView) -> float | None:
    """Memory that counts against GOMEMLIMIT, as closely as recorded: anonymous memory, else the live heap."""
    values = cgroup.series.get("memory_anon_bytes")
    if values is not None and np.isfinite(values).any():
        return float(np.nanmedian(values))
    return heap_live_bytes(process)


def at_memory_limit(cgroup: ResourceView, process: ResourceView) -> bool:
    """Whether GOMEMLIMIT is set and, as far as known, memory is near it: the limit, not growth, starts cycles."""
    limit = memory_limit_bytes(process)
    used = counted_memory_bytes(cgroup, process)
    return limit is not None and (used is None or used >= NEAR * limit)


def heap_live_bytes(process: ResourceView) -> float | None:
    """Heap in use after the last cycle, if /metrics reported it."""
    values = process.series.get("heap_live_bytes")
    if values is None:
        return None
    known = [value for value in values.tolist() if math.isfinite(value) and value > 0]
    return known[-1] if known else None
