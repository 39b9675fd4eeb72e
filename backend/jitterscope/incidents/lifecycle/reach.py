"""The resources that an incident reached, as notification rules see them: its subject, and the others that it lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from jitterscope.incidents.models import IncidentRow
from jitterscope.inventory import service as inventory
from jitterscope.inventory.workload_names import WorkloadName
from jitterscope.notify.conditions import Place, place_of
from jitterscope.notify.payload import PayloadSubject

_NAMELESS = WorkloadName()


@dataclass(frozen=True, slots=True)
class Reach:
    """The subject with its Kubernetes names, and the places of the others."""

    subject: PayloadSubject
    others: tuple[Place, ...]

    @property
    def places(self) -> tuple[Place, ...]:
        """The places of the subject and the others."""
        return (place_of(self.subject), *self.others)


def reach_of(session: Session, incidents: Sequence[IncidentRow]) -> dict[int, Reach]:
    """The reach of each incident by id."""
    others = {row.id: [_listed(one) for one in row.also_affected] for row in incidents}
    ids = [row.subject_id for row in incidents] + [one for listed in others.values() for one, _ in listed]
    names = inventory.names_of_workloads(session, ids)
    return {
        row.id: Reach(
            _named(
                PayloadSubject(
                    kind=row.subject_kind, key=row.subject_key, name=row.subject_name, node=row.subject_node
                ),
                names.get(row.subject_id, _NAMELESS),
            ),
            tuple(place_of(_named(one, names.get(identity, _NAMELESS))) for identity, one in others[row.id]),
        )
        for row in incidents
    }


def _listed(one: dict[str, Any]) -> tuple[int, PayloadSubject]:
    return one["resource_id"], PayloadSubject(kind=one["kind"], key=one["key"], name=one["name"], node=one["node"])


def _named(subject: PayloadSubject, name: WorkloadName) -> PayloadSubject:
    return subject.model_copy(
        update={
            "namespace": name.namespace, "workload": name.workload, "pod": name.pod, "container": name.container,
        }
    )  # fmt: skip
