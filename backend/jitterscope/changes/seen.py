"""Changes that collectors saw: facts that differ from before, or from those of the replaced container.

A rollout creates new containers and processes: each is compared with the one of its workload that was started last
before it. All other changes are of one resource. Only facts that diagnosis areas watch are compared. Besides,
workloads are scaled, and pods evicted. A rollout in which no watched fact of a container changed is a change too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from jitterscope.changes import evictions, replicas
from jitterscope.changes.types import Seen
from jitterscope.diagnosis.core.answers import LISTED, REVISION
from jitterscope.diagnosis.core.area import Of, WatchedFact
from jitterscope.diagnosis.core.registry import all_areas
from jitterscope.diagnosis.verification.changes import SHORTEST_BEFORE_US, Step, steps
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import FactRow, ResourceKind, ResourceRow

# How many resources of each kind are examined, last seen first.
_MOST: Mapping[ResourceKind, int] = {"cgroup": 1000, "process": 2000, "dns_server": 300, "node": 300}
# Containers of one workload, and what runs in them.
_MOST_OF_WORKLOAD, _MOST_WITHIN = 100, 400
# A container may have ended this long before another one replaces it.
_GONE_US = 24 * 3600 * 1_000_000
_PLACES: Mapping[Of, ResourceKind] = {
    "subject": "cgroup", "processes": "process", "dns_servers": "dns_server", "node": "node"
}  # fmt: skip
# Facts of one change arrive one after another.
_TOGETHER_US = 5_000_000
_WORKLOAD = ("workload.namespace", "workload.owner", "workload.pod", "workload.container")
_OF_NAMESPACES = frozenset(one.fact for one in LISTED if one.of_namespace)
_OF_WORKLOADS = frozenset(one.fact for one in LISTED if one.of_workload)
_LATE = frozenset(one.fact for one in LISTED if one.late)
_PROGRAM = ("process.executable", "process.command")

Facts = dict[str, str]
Group = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Life:
    """A resource with its facts at the start of the window or of its life, and later ones by time.

    What is set within seconds of its first data is part of its initial state, not a change.
    """

    row: ResourceRow
    born_us: int
    first: Facts
    later: tuple[tuple[int, Facts], ...]


def everywhere(session: Session, from_us: int, to_us: int) -> tuple[list[Seen], bool]:
    """Changes of a window, newest first, and whether all resources could be examined."""
    rows, complete = _rows(session, from_us)
    return _read(session, rows, complete, from_us, to_us), complete


def of_subject(session: Session, subject: ResourceRow, from_us: int, to_us: int) -> tuple[list[Seen], bool]:
    """As `everywhere`, for a cgroup, its workload's other cgroups, what runs in them, and its node; or for a node."""
    node = inventory.resources(session, [subject.node_id]).get(subject.node_id)
    rows = [] if node is None else [node]
    complete = True
    if subject.kind == "cgroup":
        seen_us = from_us - _GONE_US
        others, there = inventory.same_workload(session, subject.id, seen_us, _MOST_OF_WORKLOAD)
        cgroups = [subject, *others]
        within, within_there = inventory.within(session, [one.id for one in cgroups], seen_us, _MOST_WITHIN)
        rows += [*cgroups, *within]
        complete = there <= len(others) and within_there <= len(within)
    return _read(session, rows, complete, from_us, to_us), complete


def _read(session: Session, rows: Sequence[ResourceRow], complete: bool, from_us: int, to_us: int) -> list[Seen]:
    """`complete`: these are all; otherwise pods cannot be counted."""
    watched = {kind: _watched(place) for place, kind in _PLACES.items()}
    names = sorted({name for facts in watched.values() for one in facts for name in _read_with(one)})
    ids = [row.id for row in rows]
    history = inventory.facts(session, ids, from_us, to_us + 1, [*names, *_WORKLOAD, *_PROGRAM, replicas.CREATED])
    nodes = inventory.resources_to_show(session, sorted({row.node_id for row in rows}))
    named = {row.id: workload for row in rows if (workload := inventory.workload_of(history[row.id])) is not None}
    groups: dict[Group, list[_Life]] = {}
    for row in rows:
        groups.setdefault(_group(row, history[row.id], named), []).append(_life(row, history[row.id], from_us))
    changes = [
        (at_us, row, is_rollout, made)
        for lives in groups.values()
        for at_us, row, is_rollout, made in _changes(lives, watched[lives[0].row.kind], from_us)
        if row.node_id in nodes and at_us <= to_us
    ]
    of_workloads = [(named[row.id], made) for _, row, _, made in changes if row.id in named]
    told = {(space, owner, new) for (space, owner, _), made in of_workloads for new in _told_revisions(made)}
    found = [
        Seen(at_us, nodes.get(row.id, row), nodes[row.node_id], place, is_own and is_rollout, 1, part)
        for at_us, row, is_rollout, made in changes
        for is_own, place, part in _places(row, made, named, told)
    ]
    scaled = replicas.seen(rows, history, nodes, from_us, to_us) if complete else ()
    evicted = evictions.seen(session, [nodes[row.id] for row in rows if row.id in nodes], from_us, to_us)
    return sorted((*_merged(found), *scaled, *evicted), key=lambda one: (-one.at_us, one.subject.id))


def _rows(session: Session, from_us: int) -> tuple[list[ResourceRow], bool]:
    rows: list[ResourceRow] = []
    complete = True
    for kind, most in _MOST.items():
        if kind == "cgroup":
            found, there = inventory.containers_seen(session, "", None, from_us, gone_us=None, every=False, limit=most)
        else:
            found, there = inventory.seen_since(session, kind, from_us, most)
        rows += found
        complete = complete and there <= len(found)
    return rows, complete


def _watched(place: Of) -> tuple[WatchedFact, ...]:
    """Watched facts as areas declare them; for a fact that several watch, the most informative declaration."""
    found: dict[str, WatchedFact] = {}
    declared = (fact for area in all_areas().values() for fact in (*area.facts, *area.also_listed))
    for one in (*declared, *LISTED):
        if one.of == place and one.listed and (one.fact not in found or one.show_of is not None):
            found[one.fact] = one
    return tuple(found.values())


def _read_with(one: WatchedFact) -> Iterator[str]:
    """Names of the facts needed to describe one."""
    yield one.fact
    if one.known_by is not None:
        yield one.known_by
    if one.fact == "cpu.quota_us":
        yield "cpu.period_us"


def _group(row: ResourceRow, facts: Sequence[FactRow], named: Mapping[int, tuple[str, str, str]]) -> Group:
    """Resources that replace each other: containers of a workload, processes of one program in them."""
    if row.kind == "cgroup" and row.id in named:
        return ("cgroup", *named[row.id])
    if row.kind == "process" and row.parent_id is not None:
        newest = {one.name: one.value for one in facts}
        program = next((newest[name] for name in _PROGRAM if newest.get(name)), None)
        if program is not None:
            return ("process", *named.get(row.parent_id, (str(row.parent_id),)), program)
    return (row.kind, str(row.id))


def _name(named: Mapping[int, tuple[str, str, str]], row: ResourceRow) -> str | None:
    workload = named.get(row.id) or (None if row.parent_id is None else named.get(row.parent_id))
    return None if workload is None else "/".join(part.rpartition("/")[2] for part in workload if part)


def _own(made: Iterable[Step]) -> tuple[Step, ...]:
    return tuple(step for step in made if step.name not in _OF_NAMESPACES | _OF_WORKLOADS)


def _told_revisions(made: Sequence[Step]) -> list[str | None]:
    """The new pod template, if a container shows what is new in it."""
    return [step.new for step in made if step.name == REVISION.fact and _own(made)]


def _places(
    row: ResourceRow,
    made: tuple[Step, ...],
    named: Mapping[int, tuple[str, str, str]],
    told: Collection[tuple[str, str, str | None]],
) -> Iterator[tuple[bool, str | None, tuple[Step, ...]]]:
    """Steps of a resource itself (true), and those of its workload and namespace, which all their containers show."""
    if own := _own(made):
        yield True, _name(named, row), own
    if row.id not in named:
        return
    namespace, owner, _ = named[row.id]
    workload = f"{namespace}/{owner.rpartition('/')[2]}"
    of_rollout = tuple(one for one in made if one.name == REVISION.fact and (namespace, owner, one.new) not in told)
    of_workload = tuple(one for one in made if one.name in _OF_WORKLOADS - {REVISION.fact})
    of_namespace = tuple(one for one in made if one.name in _OF_NAMESPACES)
    if of_rollout:
        yield True, workload, of_rollout
    if of_workload:
        yield False, workload, of_workload
    if of_namespace:
        yield False, f"namespace {namespace}", of_namespace


def _life(row: ResourceRow, facts: Sequence[FactRow], from_us: int) -> _Life:
    born_us = min((row.first_seen_us, *(one.since_us for one in facts)))
    made_us = max(from_us, born_us + SHORTEST_BEFORE_US)
    first = {one.name: one.value for one in facts if one.since_us <= made_us}
    later: list[tuple[int, Facts]] = []
    for one in sorted((one for one in facts if one.since_us > made_us), key=lambda one: one.since_us):
        if not later or one.since_us - later[-1][0] > _TOGETHER_US:
            later.append((one.since_us, {}))
        later[-1][1][one.name] = one.value
    return _Life(row, born_us, first, tuple(later))


def _changes(
    lives: Sequence[_Life], watched: Sequence[WatchedFact], from_us: int
) -> Iterator[tuple[int, ResourceRow, bool, tuple[Step, ...]]]:
    before: _Life | None = None
    for life in sorted(lives, key=lambda one: (one.born_us, one.row.id)):
        inherited: Facts = {}
        if before is not None:
            old = _at(before, life.born_us)
            inherited = {name: value for name, value in old.items() if name in _LATE}
            made = _steps(watched, old, life.first) if life.born_us >= from_us else ()
            if made:
                yield life.born_us, life.row, True, made
        now = inherited | life.first
        before = replace(life, first=dict(now))
        for at_us, news in life.later:
            made = _steps(watched, now, now | news)
            now |= news
            if made:
                yield at_us, life.row, False, made


def _at(life: _Life, at_us: int) -> Facts:
    facts = dict(life.first)
    for since_us, news in life.later:
        if since_us < at_us:
            facts |= news
    return facts


def _steps(watched: Iterable[WatchedFact], old: Facts, new: Facts) -> tuple[Step, ...]:
    """Compares only what was read on both sides: the first reading of a fact is not a change."""
    known = [one for one in watched if _is_read(one, old) and _is_read(one, new)]
    return tuple(steps(known, old, new, restarted=False))


def _is_read(one: WatchedFact, facts: Facts) -> bool:
    return one.fact in facts or (one.known_by is not None and one.known_by in facts)


def _merged(found: Iterable[Seen]) -> Iterator[Seen]:
    """Merge the same change of several resources of a workload or namespace, or of several nodes, into one."""
    same: dict[tuple[str, str, bool, tuple[Step, ...]], Seen] = {}
    for one in sorted(found, key=lambda one: (one.at_us, one.subject.id)):
        of = one.workload or ("" if one.subject.kind == "node" else str(one.subject.id))
        key = (one.subject.kind, of, one.is_rollout, one.steps)
        known = same.get(key)
        same[key] = one if known is None else replace(known, subject=one.subject, node=one.node,
                                                      resources=known.resources + 1)  # fmt: skip
    yield from same.values()
