"""Which programs were loaded for the newest pods, and by which command: shows when some are omitted."""

from __future__ import annotations

import json
from collections.abc import Mapping

from jitterscope.diagnosis.areas.pods.readings import bpf_loads
from jitterscope.diagnosis.core.snapshot import Event, FactValue, Snapshot

PROGRAMS = "seen.bpf_programs"
_SHOWN = 4
# Relative to the most frequent loader's sets: an agent beside it also loads one per pod, and can be held up.
_OFTEN = 0.6


def programs(snapshot: Snapshot) -> FactValue | None:
    """JSON {command: [names]} of the newest set that each loaded for two consecutive pods, or for the only one.

    Since the first of these. None if no set was loaded completely. A command that loaded far fewer sets than another,
    which loaded for pod after pod, did so for itself, like a tracing tool that is started now and then.
    """
    by_command: dict[str, list[Event]] = {}
    for event in bpf_loads.events_of(snapshot):
        by_command.setdefault(event.attributes.get("command", "unknown"), []).append(event)
    loaded: dict[str, list[tuple[int, frozenset[str]]]] = {}
    for command, events in by_command.items():
        sets = [(one[0].start_us, _names(one)) for one in _whole_sets(snapshot, events)]
        if _newest(sets) is not None:
            loaded[command] = sets
    most = max(map(len, loaded.values()), default=0)
    for_pods = {command: sets for command, sets in loaded.items() if len(sets) >= _OFTEN * most}
    found: dict[str, list[str]] = {}
    since_us = snapshot.end_us
    for command, sets in sorted(for_pods.items()):
        if (newest := _newest(sets)) is not None and newest[1]:
            found[command] = sorted(newest[1])
            since_us = min(since_us, newest[0])
    return FactValue(PROGRAMS, json.dumps(found), since_us) if found else None


def _names(loads: list[Event]) -> frozenset[str]:
    return frozenset(event.attributes["name"] for event in loads if event.attributes.get("name"))


def _newest(sets: list[tuple[int, frozenset[str]]]) -> tuple[int, frozenset[str]] | None:
    """A set loaded twice in a row, and when it first was: an agent that was held up splits one set in two."""
    for last in range(len(sets) - 1, 0, -1):
        names = sets[last][1]
        if sets[last - 1][1] == names:
            first = last - 1
            while first > 0 and sets[first - 1][1] == names:
                first -= 1
            return sets[first][0], names
    return sets[0] if len(sets) == 1 else None


def _whole_sets(snapshot: Snapshot, events: list[Event]) -> list[list[Event]]:
    """Loads between two pauses; a set cut off by the window may be incomplete."""
    sets: list[list[Event]] = [[]]
    until_us = events[0].start_us
    for event in events:
        if event.start_us - until_us >= bpf_loads.PAUSE_US:
            sets.append([])
        sets[-1].append(event)
        until_us = max(until_us, event.end_us)
    return [
        one
        for one in sets
        if one[0].start_us - snapshot.start_us >= bpf_loads.PAUSE_US
        and snapshot.end_us - max(event.end_us for event in one) >= bpf_loads.PAUSE_US
    ]


def names_of(text: str | None) -> Mapping[str, frozenset[str]]:
    """The value parsed back: names by command."""
    try:
        read = json.loads(text or "{}")
    except ValueError:
        return {}
    return {command: frozenset(names) for command, names in read.items()} if isinstance(read, dict) else {}


def left_out(before: str | None, after: str | None) -> Mapping[str, frozenset[str]]:
    """Programs, by command, that are no longer loaded while nothing new is."""
    old, new = names_of(before), names_of(after)
    return {command: names - new[command] for command, names in old.items() if new.get(command, names) < names}


def show_programs(text: str | None) -> str | None:
    """ "cilium-agent: 8 (from_container, handle_policy, …)"."""
    shown = []
    for command, names in names_of(text).items():
        more = ", …" if len(names) > _SHOWN else ""
        shown.append(f"{command}: {len(names)} ({', '.join(sorted(names)[:_SHOWN])}{more})")
    return "; ".join(shown) or None
