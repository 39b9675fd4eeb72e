"""Objectives in effect: what users set for a server, then for its workload, then the annotation of its pod."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.objective import BadObjective, Objective, parse
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.inventory import service as inventory
from jitterscope.objectives import store, workloads
from jitterscope.objectives.models import ObjectiveRow
from jitterscope.objectives.workloads import Place


@dataclass(frozen=True, slots=True)
class Setting:
    """The setting of a resource. `objective` None: none is set, and answers over 20 ms that are unusual are slow.

    `own`: it was set for this very resource. `annotation` is the pod's text, `problem` why that is no objective.
    """

    objective: Objective | None
    own: bool
    set_by: str | None
    set_at: datetime | None
    annotation: str | None
    problem: str | None
    applies_to: str


def in_effect(session: Session, server_ids: Sequence[int]) -> dict[int, Objective]:
    """Objectives of servers by their ids; those without one are absent."""
    found = settings_of(session, server_ids)
    return {one: known.objective for one, known in found.items() if known.objective is not None}


def settings_of(session: Session, resource_ids: Sequence[int]) -> dict[int, Setting]:
    """Settings of servers and cgroups, by id; other resources are absent."""
    places = workloads.places(session, resource_ids)
    wanted = {key for place in places.values() for key in place.keys}
    rows = store.of(session, sorted(wanted)) if wanted else {}
    return {one: _setting(place, rows) for one, place in places.items()}


def _setting(place: Place, rows: dict[tuple[str, int], ObjectiveRow]) -> Setting:
    row = next((rows[key] for key in place.keys if key in rows), None)
    told, problem = None, None
    if place.annotation is not None:
        try:
            told = parse(place.annotation, "annotation")
        except BadObjective as error:
            problem = str(error)
    own = row is not None and (row.workload, row.port) == place.keys[0]
    objective = told if row is None else objective_of(row)
    return Setting(
        objective, own, None if row is None else row.set_by, None if row is None else row.set_at,
        place.annotation, problem, place.words,
    )  # fmt: skip


def objective_of(row: ObjectiveRow) -> Objective:
    return Objective(row.quantile, row.limit_us, "server" if row.port else "workload")


def put(session: Session, organization_id: int, resource_id: int, objective: Objective, by: str) -> ObjectiveRow | None:
    """Set the objective of a server or a cgroup; returns the one that it replaces, if any.

    Raises KeyError for other resources.
    """
    workload, port = workloads.places(session, [resource_id])[resource_id].keys[0]
    before = store.own(session, workload, port)
    store.put(session, organization_id, workload, port, objective.quantile, objective.limit_us, by)
    return before


def remove(session: Session, resource_id: int) -> ObjectiveRow | None:
    """Remove what was set for a server or a cgroup; None if nothing was. Raises KeyError for other resources."""
    workload, port = workloads.places(session, [resource_id])[resource_id].keys[0]
    before = store.own(session, workload, port)
    if before is not None:
        store.remove(session, before.id)
    return before


def watched(session: Session, seen_after_us: int) -> list[int]:
    """Cgroups with a server that has an objective below 20 ms, by id: collectors send no triggers for misses."""
    short = store.any_below(session, SLOW_US)
    servers = inventory.seen_servers(session, seen_after_us, annotated=None if short else workloads.ANNOTATION)
    below = [one for one, objective in in_effect(session, servers).items() if objective.limit_us < SLOW_US]
    owners = inventory.owning_subjects(session, below)
    return sorted(set(owners.values()))
