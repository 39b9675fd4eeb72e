"""Events that Flux's notification controller posts to a provider of type `generic`, which has no template.

Shape: the Event of fluxcd/pkg apis/event/v1beta1, as documented for the generic provider. Its metadata has keys
prefixed with the controller's group, and whatever an Alert adds through `eventMetadata`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AwareDatetime, BaseModel, Field

from jitterscope.changes.schemas import ChangeReport, Name

# The first is from kustomize-controller, the others are from helm-controller.
_APPLIED = frozenset(
    {"ReconciliationSucceeded", "InstallSucceeded", "UpgradeSucceeded", "RollbackSucceeded", "UninstallSucceeded"}
)
_TEXT = Annotated[str, Field(max_length=40_000)]


class FluxObject(BaseModel):
    kind: Name
    name: Name
    namespace: Name
    uid: Annotated[str, Field(max_length=100)] = ""


class FluxEvent(BaseModel):
    """Fields that are used; what else Flux sends is ignored."""

    involvedObject: FluxObject
    severity: Annotated[str, Field(max_length=20)]
    reason: Annotated[str, Field(max_length=200)]
    timestamp: AwareDatetime
    metadata: dict[str, _TEXT] = Field(default_factory=dict, max_length=100)


def report_of(event: FluxEvent) -> ChangeReport | None:
    """The report in an event; None if nothing was applied. Raises ValidationError if the metadata does not fit."""
    of, told = event.involvedObject, event.metadata
    if event.severity != "info" or event.reason not in _APPLIED:
        return None
    # "kustomize.toolkit.fluxcd.io/revision" is "main@sha1:731f7ea…"
    revisions = [value for key, value in told.items() if key.rpartition("/")[2] == "revision"]
    return ChangeReport(
        title=f"{of.kind} {of.name} applied"[:200],
        at=event.timestamp,
        version_to=revisions[0] if revisions else None,
        namespace=told.get("namespace", of.namespace),
        workload=told.get("workload"),
        container=told.get("container"),
        node=told.get("node"),
        author="Flux",
        external_id=f"flux/{of.uid or f'{of.namespace}/{of.name}'}/{event.timestamp.isoformat()}"[:200],
    )
