"""Changes from both origins as one list; other domains use only these functions and `types`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

from jitterscope.changes import evictions, replicas, seen, store
from jitterscope.changes.models import ChangeRow
from jitterscope.changes.store import Place
from jitterscope.changes.types import Change, Kind, Seen
from jitterscope.diagnosis.core.settings import changed
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import ResourceRow
from jitterscope.kit.instant import time_of, us_of

# How many reports of one window are read.
MOST_REPORTED = 500
# What nobody set.
_HAPPENED = frozenset({"node.conditions", evictions.EVENT})
_VERSIONS = frozenset(
    {"workload.image", "workload.version", "workload.chart", "workload.revision", "dns.version", "go.main_module"}
)


def everywhere(session: Session, from_us: int, to_us: int) -> tuple[list[Change], bool]:
    """Changes of a window, newest first, and whether the list is complete."""
    by_facts, complete = seen.everywhere(session, from_us, to_us)
    return _together(session, by_facts, complete, from_us, to_us, None)


def of_subject(session: Session, subject: ResourceRow, from_us: int, to_us: int) -> tuple[list[Change], bool]:
    """As `everywhere`, for a node; or for a cgroup, its workload, and its node."""
    by_facts, complete = seen.of_subject(session, subject, from_us, to_us)
    return _together(session, by_facts, complete, from_us, to_us, _place(session, subject))


def of_resources(session: Session, rows: Sequence[ResourceRow], from_us: int, to_us: int) -> tuple[list[Change], bool]:
    """As `everywhere`, for several resources, each with what contains it; a change of several of them appears once."""
    found: dict[tuple[int, str, str, int | None], Change] = {}
    complete = True
    asked: dict[int, list[int]] = {}
    for row in rows:
        subject = inventory.owning_subject(session, row.id)
        # What is in no container, such as a remote-write target, has changes only from reports.
        asked.setdefault(row.id if subject is None else subject.id, []).append(row.id)
    subjects = inventory.resources(session, sorted(asked))
    for subject_id, ids in asked.items():
        subject = subjects[subject_id]
        if subject.kind in ("node", "cgroup"):
            changes, is_all = of_subject(session, subject, from_us, to_us)
        else:
            changes, is_all = _together(session, [], True, from_us, to_us, _place(session, subject))
        complete = complete and is_all
        for one in changes:
            key = (one.at_us, one.text, one.what, None if one.reported is None else one.reported.id)
            known = found.setdefault(key, one)
            found[key] = replace(known, of=tuple(sorted((*known.of, *ids))))
    return sorted(found.values(), key=lambda one: -one.at_us), complete


def of_reports(session: Session, rows: Sequence[ChangeRow]) -> list[Change]:
    """Reports as entries of the list."""
    ids = sorted({row.resource_id for row in rows if row.resource_id is not None})
    named = inventory.resources_to_show(session, ids)
    return [_of_report(row, named.get(row.resource_id or 0)) for row in rows]


def _of_report(row: ChangeRow, resource: ResourceRow | None) -> Change:
    versions = row.version_from or row.version_to
    text = row.title
    if row.version_from:
        text = changed(row.title, row.version_from, row.version_to or "unknown")
    elif versions and versions not in row.title:
        text = f"{row.title} {versions}"
    kind: Kind = row.kind  # type: ignore[assignment]
    return Change(us_of(row.at), kind, text, _selected(row, resource), resource, reported=row)


def _together(
    session: Session, by_facts: list[Seen], complete: bool, from_us: int, to_us: int, place: Place | None
) -> tuple[list[Change], bool]:
    rows, there = store.between(session, time_of(from_us), time_of(to_us), place, MOST_REPORTED)
    found = [*map(_of_facts, by_facts), *of_reports(session, rows)]
    return sorted(found, key=lambda one: -one.at_us), complete and there <= len(rows)


def _of_facts(one: Seen) -> Change:
    text = "; ".join(step.text for step in one.steps)
    what = one.workload or (f"node {one.subject.name}" if one.subject.kind == "node" else one.subject.name)
    return Change(one.at_us, _kind(one), text, what, one.subject, seen=one)


def _kind(one: Seen) -> Kind:
    names = {step.name for step in one.steps}
    if names & _VERSIONS:
        return "deploy"
    if replicas.NAME in names:
        return "scale"
    return "other" if names <= _HAPPENED else "config"


def _selected(row: ChangeRow, resource: ResourceRow | None) -> str:
    """ "shop/cart on worker-1"; "namespace shop"."""
    if row.workload is not None:
        parts = [row.namespace, row.workload.rpartition("/")[2], row.container]
        what = "/".join(part for part in parts if part)
    elif row.namespace is not None:
        what = f"namespace {row.namespace}" + (f", container {row.container}" if row.container else "")
    else:
        gone = "" if row.resource_id is None else f"resource {row.resource_id}"
        what = gone if resource is None else resource.name
    if row.node is None:
        return what
    return f"{what} on {row.node}" if what else f"node {row.node}"


def _place(session: Session, subject: ResourceRow) -> Place:
    around = [subject, *inventory.ancestors(session, subject.id)]
    nodes = [one for one in around if one.kind == "node"]
    ids = {one.id for one in around}
    called = {part for one in nodes for part in (one.name, one.key)}
    if subject.kind != "cgroup":
        return Place(ids, called, None, (), None)
    within, _ = inventory.within(session, [subject.id], 0, MOST_REPORTED)
    name = inventory.names_of_workloads(session, [subject.id]).get(subject.id)
    if name is None:
        return Place(ids | {one.id for one in within}, called, None, (), None)
    own = name.workload or name.container or ""
    workloads = {own, own.rpartition("/")[2]} - {""}
    return Place(ids | {one.id for one in within}, called, name.namespace, workloads, name.container)
