"""Settings of a node that fixes change: from its facts, or visible only in a window."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from jitterscope.diagnosis.areas.kernel.readings import nss
from jitterscope.diagnosis.areas.kernel.readings.lookups import lookups
from jitterscope.diagnosis.core.area import NEIGHBOUR
from jitterscope.diagnosis.core.signals import number, series
from jitterscope.diagnosis.core.snapshot import FactValue, Snapshot

LAST_DROP, NSS, LOOKER_LIMIT = "seen.drop_caches", "seen.nss", "seen.lookup_limit"
# In the environment of the container that starts the program, and of the one that replaces it.
NSS_VARIABLE = f"{NEIGHBOUR}nss.sdb_use_cache"


def last_drop(snapshot: Snapshot) -> FactValue | None:
    """When dentries were last dropped by hand (µs): from the event, else from the kernel's own counter."""
    ended = [event.end_us for event in snapshot.node.events if event.kind == "fs.drop_caches"
             and event.attributes.get("what") != "1"]  # fmt: skip
    dropped = series(snapshot.node, "vm_drop_slab", snapshot.ticks)
    ended += [snapshot.start_us + (tick + 1) * snapshot.step_us for tick in range(snapshot.ticks) if dropped[tick] > 0]
    return FactValue(LAST_DROP, str(max(ended)), max(ended)) if ended else None


def nss_library(snapshot: Snapshot) -> FactValue | None:
    """NSS of the program that was traced last."""
    told = nss.read_while_traced(snapshot)
    if not told:
        return None
    since_us, text = max(told)
    return FactValue(NSS, text, since_us)


def looker_limit(snapshot: Snapshot) -> FactValue | None:
    """The memory limit of the container with the most failed lookups, -1: none."""
    where = next((one.cgroup for one in lookups(snapshot).lookers if one.cgroup is not None), None)
    limit = None if where is None else where.fact("memory.limit_bytes")
    if where is None or limit is None:
        return None
    since_us = max(fact.since_us for fact in where.facts if fact.name == "memory.limit_bytes")
    return FactValue(LOOKER_LIMIT, limit, since_us)


def numbers(text: str | None) -> dict[str, float]:
    """The numbers of a fact that is a JSON object, by name, without unreadable ones."""
    try:
        read = json.loads(text or "{}")
    except ValueError:
        return {}
    found = {name: number(str(value)) for name, value in read.items()} if isinstance(read, dict) else {}
    return {name.removeprefix("fs."): value for name, value in found.items() if value is not None}


def show_limits(text: str | None) -> str | None:
    """ "negative-dentry-limit 15"."""
    if text is None:
        return None
    return ", ".join(f"fs.{name} {value:g}" for name, value in sorted(numbers(text).items())) or "none"


def show_watermarks(text: str | None) -> str | None:
    """The two settings that determine the watermarks."""
    shown = [f"vm.{name} {value:.0f}" for name, value in sorted(numbers(text).items())]
    return ", ".join(shown) or None


def show_time(text: str | None) -> str | None:
    at_us = number(text)
    return None if at_us is None else f"{datetime.fromtimestamp(at_us / 1e6, UTC):%H:%M:%S} UTC"


def show_nss(text: str | None) -> str | None:
    if text is None:
        return None
    seen = nss.parsed(text)
    value = "not set" if seen.env is None else seen.env
    return f"{seen.version_text or 'version not known'}, NSS_SDB_USE_CACHE {value}"


def show_variable(text: str | None) -> str | None:
    """The value of NSS_SDB_USE_CACHE; empty: not set."""
    return "not set" if text == "" else text


def show_bytes(text: str | None) -> str | None:
    size = number(text)
    return None if size is None else "none" if size < 0 else f"{size / (1 << 20):,.0f} MiB"
