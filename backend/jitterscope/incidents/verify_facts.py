"""Notices that a workload was changed: facts of its cgroup, processes and DNS servers then and now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from jitterscope.diagnosis.verification.changes import Step, steps
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import FactRow, ResourceRow, SubjectTree
from jitterscope.series import service as series

# Silence of a resource for this long, while its node's data go on, means that it is gone.
SILENCE_US = 5_000_000
_CGROUP = frozenset({"cpu.quota_us", "cpu.period_us", "cpu.burst_us", "memory.limit_bytes", "workload.image"})
_PROCESS = frozenset(
    {
        "go.env.GOMAXPROCS", "go.env.GOGC", "go.env.GOMEMLIMIT", "go.env.GODEBUG", "go.version", "go.main_module",
    }
)  # fmt: skip
_SERVER = frozenset({"dns.version", "dns.udp_sockets", "dns.corefile"})


@dataclass(frozen=True, slots=True)
class Observed:
    """The workload as it is now beside how it was at the baseline. `at_us`: the last of the changes; `first_us` the
    first. Without any, `steps` is empty."""

    subject: ResourceRow
    steps: tuple[Step, ...]
    first_us: int
    at_us: int


@dataclass(frozen=True, slots=True)
class _State:
    """Newest facts at a time, and when each got its value (µs)."""

    values: Mapping[str, str]
    since_us: Mapping[str, int]


def current_subject(session: Session, subject_id: int, after_us: int) -> ResourceRow | None:
    """The cgroup where the workload of `subject_id` runs now: itself, or what took its place. None: neither runs."""
    own = inventory.resource(session, subject_id)
    if own is None:
        return None
    if _alive(session, own, "cpu_usage_us"):
        return own
    candidates = inventory.successors(session, subject_id, after_us)
    return next((one for one in candidates if _alive(session, one, "cpu_usage_us")), None)


def observe(session: Session, old_subject_id: int, current: ResourceRow, baseline_us: int) -> Observed | None:
    """What differs between the workload at `baseline_us` and now. None where either cannot be read."""
    clock_us = inventory.node_clock_us(session, current.node_id)
    if clock_us is None:
        return None
    before = inventory.subject_tree(session, old_subject_id, baseline_us - SILENCE_US, clock_us)
    now = before if current.id == old_subject_id else inventory.subject_tree(session, current.id, baseline_us, clock_us)
    if before is None or now is None:
        return None
    ids = {row.id for tree in (before, now) for row in (tree.subject, *tree.processes, *tree.dns_servers)}
    facts = inventory.facts(session, sorted(ids), baseline_us, clock_us + 1)
    old, new, restart_us = _states(session, before, now, facts, baseline_us)
    found = steps(old.values, new.values, restart_us is not None)
    times = [new.since_us[name] for name in new.values if new.values[name] != old.values.get(name)]
    # What is no longer set has no time of its own: it went with the process.
    times += [restart_us] if restart_us is not None else []
    times = [at_us for at_us in times if at_us > baseline_us]
    if not found or not times:
        return Observed(current, (), baseline_us, baseline_us)
    return Observed(current, tuple(found), min(times), max(times))


def _states(
    session: Session,
    before: SubjectTree,
    now: SubjectTree,
    facts: Mapping[int, Sequence[FactRow]],
    baseline_us: int,
) -> tuple[_State, _State, int | None]:
    """Old state, new state, and when a process that matters was started anew."""
    old_parts = [_first(facts[before.subject.id], _CGROUP, baseline_us)]
    new_parts = [_last(facts[now.subject.id], _CGROUP)]
    restarts: list[int] = [] if now is before else [now.subject.first_seen_us]
    groups = _by_program(before.processes, facts)
    groups_now = groups if now is before else _by_program(now.processes, facts)
    for program, members in groups.items():
        old = _at(members, baseline_us)
        new = max(groups_now.get(program, members), key=lambda row: (row.first_seen_us, row.id))
        if new.id != old.id and (new.first_seen_us <= baseline_us or _alive(session, old, "process_cpu_us")):
            new = old  # a second process of the same program, not a new one in its place
        old_parts.append(_first(facts[old.id], _PROCESS, baseline_us))
        new_parts.append(_last(facts[new.id], _PROCESS))
        if new.id != old.id:
            restarts.append(new.first_seen_us)
    if before.dns_servers and now.dns_servers:
        old_server = _at(before.dns_servers, baseline_us)
        new_server = _at(now.dns_servers, now.subject.last_seen_us) if now is not before else old_server
        old_parts.append(_first(facts[old_server.id], _SERVER, baseline_us))
        new_parts.append(_last(facts[new_server.id], _SERVER))
    return _joined(old_parts), _joined(new_parts), max(restarts, default=None)


def _by_program(
    processes: Iterable[ResourceRow], facts: Mapping[int, Sequence[FactRow]]
) -> dict[str, list[ResourceRow]]:
    """Go programs by name: their environment is what fixes change, and a restart of anything else is none."""
    groups: dict[str, list[ResourceRow]] = {}
    for row in processes:
        known = {fact.name: fact.value for fact in facts[row.id]}
        if any(name.startswith("go.") for name in known):
            groups.setdefault(known.get("process.executable") or known.get("process.command", ""), []).append(row)
    return groups


def _at(rows: Sequence[ResourceRow], at_us: int) -> ResourceRow:
    """The newest that was there at a time; else the first that came."""
    there = [row for row in rows if row.first_seen_us <= at_us]
    return (
        max(there, key=lambda row: (row.first_seen_us, row.id))
        if there
        else min(rows, key=lambda row: (row.first_seen_us, row.id))
    )


def _first(facts: Sequence[FactRow], names: frozenset[str], at_us: int) -> _State:
    """As it was at a time; what was first observed later was so before, as far as anybody knows."""
    values: dict[str, str] = {}
    since_us: dict[str, int] = {}
    for fact in facts:
        if fact.name in names and (fact.name not in values or fact.since_us <= at_us):
            values[fact.name], since_us[fact.name] = fact.value, fact.since_us
    return _State(values, since_us)


def _last(facts: Sequence[FactRow], names: frozenset[str]) -> _State:
    known = [fact for fact in facts if fact.name in names]
    return _State({fact.name: fact.value for fact in known}, {fact.name: fact.since_us for fact in known})


def _joined(parts: Iterable[_State]) -> _State:
    values: dict[str, str] = {}
    since_us: dict[str, int] = {}
    for part in parts:
        for name, value in part.values.items():
            # Of several programs the first that sets something speaks.
            if name not in values:
                values[name], since_us[name] = value, part.since_us[name]
    return _State(values, since_us)


def _alive(session: Session, row: ResourceRow, metric: str) -> bool:
    """Whether the newest seconds of its node's data have this resource."""
    clock_us = inventory.node_clock_us(session, row.node_id)
    if clock_us is None:
        return False
    return bool(series.read_series(session, [row.id], [metric], clock_us - SILENCE_US, clock_us))
