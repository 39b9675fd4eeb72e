"""Incidents and risks with the names of nodes that people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from sqlalchemy.orm import Session

from jitterscope.incidents.api.schemas import Incident, IncidentSummary, Risk, SubjectRef
from jitterscope.inventory import service as inventory

Shown = TypeVar("Shown", IncidentSummary, Incident, Risk)
Subject = TypeVar("Subject", bound=SubjectRef)


def told_apart(session: Session, found: Sequence[Shown]) -> list[Shown]:
    """The same, with nodes of one name told apart: what is stored has the name alone."""
    names = inventory.names_of_namesakes(session)
    if not names:
        return list(found)
    places = inventory.resources(session, _subjects(found)).values()
    nodes = {row.id: names[row.node_id] for row in places if row.node_id in names}
    return [_named(one, nodes) for one in found]


def _subjects(found: Sequence[IncidentSummary | Risk]) -> list[int]:
    return sorted({one.resource_id for item in found for one in (item.subject, *_others(item))})


def _named(one: Shown, nodes: Mapping[int, str]) -> Shown:
    update: dict[str, object] = {"subject": _subject(one.subject, nodes)}
    if others := _others(one):
        update["also_affected"] = [_subject(other, nodes) for other in others]
    return one.model_copy(update=update)


def _others(one: IncidentSummary | Risk) -> Sequence[SubjectRef]:
    return one.also_affected if isinstance(one, IncidentSummary) else ()


def _subject(one: Subject, nodes: Mapping[int, str]) -> Subject:
    node = nodes.get(one.resource_id)
    if node is None:
        return one
    return one.model_copy(update={"node": node, "name": node if one.kind == "node" else one.name})
