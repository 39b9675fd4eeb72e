"""A workload then and now: its watched settings at the baseline, and at present.

A workload is a cgroup with its processes and DNS servers, or a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.area import NEIGHBOUR, FactsOf, Sighting, WatchedFact
from jitterscope.diagnosis.verification.changes import SHORTEST_BEFORE_US, Step, steps
from jitterscope.incidents.verification import window
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import FactRow, ResourceRow, SubjectTree
from jitterscope.series import service as series

# A resource that is silent for this long, while its node's data continues, no longer exists.
SILENCE_US = 5_000_000
# How far back to look for settings that only a window shows.
_SIGHT_US = 1_800_000_000
_MOST_CLIENTS = 32
# The longest distance between a kill and the last tick of the process: the collector looks for processes about every
# second. A restarted program appears within the longest backoff of a kubelet.
_KILL_TICKS, _TO_RESTART_US = 50, 360_000_000


@dataclass(frozen=True, slots=True)
class Watch:
    """What to watch for changes in a workload, and until when a sighting belongs to the fault itself (µs).

    `named`: ids of resources that the finding names; those that are other cgroups are its neighbors.
    """

    facts: tuple[WatchedFact, ...]
    sightings: tuple[Sighting, ...]
    fault_until_us: int
    named: tuple[int, ...] = ()

    def of(self, *places: FactsOf) -> tuple[WatchedFact, ...]:
        """The facts to look for in those places."""
        return tuple(one for one in self.facts if one.of in places)


@dataclass(frozen=True, slots=True)
class Observed:
    """The workload as it is now, compared with the baseline.

    `at_us`: the last of the changes; `first_us`: the first. Without changes, `steps` is empty. `before` and `after` are
    the watched facts by name. `lives`: the subject's id and those of its container's other cgroups.
    """

    subject: ResourceRow
    steps: tuple[Step, ...]
    first_us: int
    at_us: int
    before: Mapping[str, str]
    after: Mapping[str, str]
    lives: frozenset[int] = frozenset()


@dataclass(slots=True)
class _State:
    """Facts at a time, and when each got its value (µs)."""

    values: dict[str, str] = field(default_factory=dict)
    since_us: dict[str, int] = field(default_factory=dict)

    def of_neighbour(self) -> _State:
        """The same state under the names of a neighbor's facts."""
        return _State(
            {NEIGHBOUR + name: value for name, value in self.values.items()},
            {NEIGHBOUR + name: at_us for name, at_us in self.since_us.items()},
        )

    def take(self, other: _State, name: str) -> None:
        self.values.pop(name, None)
        if name in other.values:
            self.values[name], self.since_us[name] = other.values[name], other.since_us[name]


def current_subject(session: Session, subject_id: int, after_us: int) -> ResourceRow | None:
    """Where the workload of `subject_id` runs now: itself, or its successor. None if neither runs."""
    own = inventory.resource(session, subject_id)
    if own is None:
        return None
    if own.kind == "node" or _alive(session, own, "cpu_usage_us"):
        return own
    candidates = inventory.successors(session, subject_id, after_us)
    return next((one for one in candidates if _alive(session, one, "cpu_usage_us")), None)


def observe(
    session: Session, old_subject_id: int, current: ResourceRow, baseline_us: int, watch: Watch
) -> Observed | None:
    """What differs between the workload at `baseline_us` and now. None if either cannot be read."""
    clock_us = inventory.node_clock_us(session, current.node_id)
    if clock_us is None:
        return None
    before = inventory.subject_tree(session, old_subject_id, baseline_us - SILENCE_US, clock_us)
    now = before if current.id == old_subject_id else inventory.subject_tree(session, current.id, baseline_us, clock_us)
    if before is None or now is None:
        return None
    pairs, restart_us = _pairs(session, before, now, watch, baseline_us, clock_us)
    old, new = _merged(pairs)
    for one in watch.sightings:
        _sight(session, one, (old, old_subject_id), (new, current.id), max(baseline_us, watch.fault_until_us), clock_us)
    found = steps((*watch.facts, *watch.sightings), old.values, new.values, restart_us is not None)
    names = {step.name for step in found}
    times = [new.since_us[name] for name in new.values if name in names]
    # A setting that was removed has no time of its own: it disappeared with the process.
    times += [restart_us] if restart_us is not None else []
    times = [at_us for at_us in times if at_us > baseline_us]
    lives = frozenset({current.id, *(one.id for one in now.lives)})
    if not found or not times:
        return Observed(current, (), baseline_us, baseline_us, old.values, new.values, lives)
    return Observed(current, tuple(found), min(times), max(times), old.values, new.values, lives)


def _pairs(
    session: Session, before: SubjectTree, now: SubjectTree, watch: Watch, baseline_us: int, clock_us: int
) -> tuple[list[tuple[_State, _State]], int | None]:
    """Old and new state of each relevant resource, and when a relevant process was restarted."""
    clients = _clients(session, before, baseline_us, clock_us) if watch.of("clients") else []
    neighbours = _neighbours(session, before, watch.named, baseline_us) if watch.of("neighbours") else []
    rows = [
        row for tree in (before, now)
        for row in (tree.subject, tree.node, *tree.processes, *tree.dns_servers, *tree.tcp_servers)
    ]  # fmt: skip
    ids = sorted({row.id for row in (*rows, *(one for pair in (*clients, *neighbours) for one in pair))})
    facts = inventory.facts(session, ids, baseline_us, clock_us + 1)

    def pair(old: ResourceRow, new: ResourceRow, wanted: Sequence[WatchedFact]) -> tuple[_State, _State]:
        names = _names(wanted)
        # Late data is older than the first mention of its resource.
        first_us = min((old.first_seen_us, *(one.since_us for one in facts[old.id])))
        made_us = max(baseline_us, first_us + SHORTEST_BEFORE_US)
        before, after = _first(facts[old.id], names, made_us), _last(facts[new.id], names)
        for one in wanted:
            _assume(one, before, after)
            _assume(one, after, before)
        return before, after

    of_node = before.subject.id == before.node.id
    found = [pair(before.subject, now.subject, watch.of("subject", "node") if of_node else watch.of("subject"))]
    if not of_node and before.node.id == now.node.id:
        found.append(pair(before.node, now.node, watch.of("node")))
    # The kubelet restarts a container that exited or was killed, and a CronJob runs again: that changes nothing.
    same = now is before or now.subject.id in {one.id for one in before.lives} or _runs_again(facts[now.subject.id])
    restarts: list[int] = [] if same else [now.subject.first_seen_us]
    names = _names(watch.of("processes"))
    groups = _by_program(before.processes, facts, names)
    groups_now = groups if now is before else _by_program(now.processes, facts, names)
    for program, members in groups.items():
        old = _at(members, baseline_us)
        new = max(groups_now.get(program, members), key=lambda row: (row.first_seen_us, row.id))
        if new.id != old.id and (new.first_seen_us <= baseline_us or _alive(session, old, "process_cpu_us")):
            new = old  # a second process of the same program, not its replacement
        found.append(pair(old, new, watch.of("processes")))
        if new.id != old.id and not of_node:
            restarts += _restarts(session, now.subject, groups_now.get(program, members), baseline_us)
    servers = watch.of("dns_servers")
    if of_node:
        found += [pair(one, one, servers) for one in before.dns_servers]
    elif before.dns_servers and now.dns_servers:
        old_server = _at(before.dns_servers, baseline_us)
        new_server = _at(now.dns_servers, now.subject.last_seen_us) if now is not before else old_server
        found.append(pair(old_server, new_server, servers))
    listening = watch.of("tcp_servers")
    found += [pair(old, new, listening) for old, new in _same_ports(before.tcp_servers, now.tcp_servers)]
    found += [pair(old, new, watch.of("clients")) for old, new in clients]
    of_others = [replace(one, fact=one.fact.removeprefix(NEIGHBOUR)) for one in watch.of("neighbours")]
    for old, new in neighbours:
        was, became = pair(old, new, of_others)
        found.append((was.of_neighbour(), became.of_neighbour()))
    return found, max(restarts, default=None)


def _runs_again(known: Sequence[FactRow]) -> bool:
    return any(fact.name == "workload.owner" and fact.value.startswith("CronJob/") for fact in known)


def _same_ports(before: Sequence[ResourceRow], now: Sequence[ResourceRow]) -> list[tuple[ResourceRow, ResourceRow]]:
    """TCP servers, each with the newest one that listens on the same port now: the port identifies a server."""

    def by_port(rows: Sequence[ResourceRow]) -> dict[str, ResourceRow]:
        return {row.key.rpartition(":")[2]: row for row in sorted(rows, key=lambda row: (row.first_seen_us, row.id))}

    newest = by_port(now)
    return [(row, newest[port]) for port, row in by_port(before).items() if port in newest]


def _restarts(session: Session, subject: ResourceRow, members: Sequence[ResourceRow], baseline_us: int) -> list[int]:
    """When processes of one program replaced one another in their cgroup.

    A restart after an OOM kill is part of the fault, not a change.
    """
    rows = sorted(members, key=lambda row: (row.first_seen_us, row.id))
    return [
        new.first_seen_us
        for old, new in pairwise(rows)
        if new.first_seen_us > baseline_us
        and new.parent_id == old.parent_id
        and not _was_killed(session, subject, old, new.first_seen_us)
    ]


def _was_killed(session: Session, cgroup: ResourceRow, process: ResourceRow, next_us: int) -> bool:
    """Whether the data of the process ends with an OOM kill in its cgroup."""
    window = (max(process.first_seen_us, next_us - _TO_RESTART_US), next_us)
    wanted = series.read_series(session, [cgroup.id, process.id], ["memory_oom_kills", "process_cpu_us"], *window)
    kills, ran = wanted.get((cgroup.id, "memory_oom_kills")), wanted.get((process.id, "process_cpu_us"))
    if kills is None or ran is None:
        return False
    killed, last = np.flatnonzero(np.nan_to_num(kills) > 0), np.flatnonzero(np.isfinite(ran))
    return bool(len(last) and np.any(np.abs(killed - last[-1]) <= _KILL_TICKS))


def _clients(
    session: Session, tree: SubjectTree, baseline_us: int, clock_us: int
) -> list[tuple[ResourceRow, ResourceRow]]:
    """Cgroups with a known resolv.conf, each with its current replacement."""
    known = inventory.asking_cgroups(session, tree.node.id, baseline_us - SILENCE_US, clock_us, _MOST_CLIENTS)
    found = []
    for old in known:
        if old.first_seen_us > baseline_us:
            continue
        new = current_subject(session, old.id, baseline_us)
        if new is not None:
            found.append((old, new))
    return found


def _neighbours(
    session: Session, tree: SubjectTree, named: Sequence[int], baseline_us: int
) -> list[tuple[ResourceRow, ResourceRow]]:
    """Named cgroups outside the workload, each with its current replacement."""
    own = {one.id for one in (tree.subject, *tree.lives, *tree.ancestors)}
    rows = inventory.resources(session, [one for one in named if one not in own])
    found = []
    for old in rows.values():
        new = current_subject(session, old.id, baseline_us) if old.kind == "cgroup" else None
        if new is not None:
            found.append((old, new))
    return found


def _by_program(
    processes: Iterable[ResourceRow], facts: Mapping[int, Sequence[FactRow]], names: frozenset[str]
) -> dict[str, list[ResourceRow]]:
    """Programs with a watched setting, and Go programs, whose environment is what fixes change.

    A restart of any other program is not a change.
    """
    groups: dict[str, list[ResourceRow]] = {}
    for row in processes:
        known = {fact.name: fact.value for fact in facts[row.id]}
        if any(name in names or name.startswith("go.") for name in known):
            groups.setdefault(known.get("process.executable") or known.get("process.command", ""), []).append(row)
    return groups


def _at(rows: Sequence[ResourceRow], at_us: int) -> ResourceRow:
    """The newest row that existed at a time; otherwise the first to appear."""
    there = [row for row in rows if row.first_seen_us <= at_us]
    if there:
        return max(there, key=lambda row: (row.first_seen_us, row.id))
    return min(rows, key=lambda row: (row.first_seen_us, row.id))


def _names(wanted: Iterable[WatchedFact]) -> frozenset[str]:
    """Names of the facts, and of those that show whether they were read."""
    return frozenset(name for one in wanted for name in (one.fact, one.known_by) if name is not None)


def _assume(one: WatchedFact, known: _State, other: _State) -> None:
    """Assume that what was read on only one side was the same on the other."""
    if one.fact in other.values or (one.known_by is not None and one.known_by in other.values):
        return
    other.take(known, one.fact)


def _first(facts: Sequence[FactRow], names: frozenset[str], at_us: int) -> _State:
    """The state at a time; what was first observed later is assumed to have been so before."""
    state = _State()
    for fact in facts:
        if fact.name in names and (fact.name not in state.values or fact.since_us <= at_us):
            state.values[fact.name], state.since_us[fact.name] = fact.value, fact.since_us
    return state


def _last(facts: Sequence[FactRow], names: frozenset[str]) -> _State:
    known = [fact for fact in facts if fact.name in names]
    return _State({fact.name: fact.value for fact in known}, {fact.name: fact.since_us for fact in known})


def _merged(pairs: Iterable[tuple[_State, _State]]) -> tuple[_State, _State]:
    """Merge the states: of several programs, servers, or clients, the one that changed wins, otherwise the first."""
    old, new = _State(), _State()
    settled: set[str] = set()
    for before, after in pairs:
        for name in {**before.values, **after.values}:
            differs = before.values.get(name) != after.values.get(name)
            known = name in old.values or name in new.values
            if name in settled or (known and not differs):
                continue
            old.take(before, name)
            new.take(after, name)
            if differs:
                settled.add(name)
    return old, new


def _sight(
    session: Session,
    one: Sighting,
    old: tuple[_State, int],
    new: tuple[_State, int],
    baseline_us: int,
    clock_us: int,
) -> None:
    """Add what only a window shows to both states."""
    for (state, subject_id), from_us, to_us in (
        (old, baseline_us - _SIGHT_US, baseline_us),
        (new, max(baseline_us, clock_us - _SIGHT_US), clock_us),
    ):
        read = window.read(session, subject_id, from_us, to_us, one.needs)
        value = None if read is None else one.read(read)
        if value is not None:
            state.values[one.id], state.since_us[one.id] = value.value, value.since_us


def _alive(session: Session, row: ResourceRow, metric: str) -> bool:
    """Whether the newest seconds of its node's data include this resource."""
    clock_us = inventory.node_clock_us(session, row.node_id)
    if clock_us is None:
        return False
    return bool(series.read_series(session, [row.id], [metric], clock_us - SILENCE_US, clock_us))
