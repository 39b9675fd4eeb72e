"""The Kubernetes workload that manages a subject's pods, and how each kind takes a change of its pod template."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jitterscope.diagnosis.core.finding import Change, WorkloadChange
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

TEMPLATE = ("spec", "template", "spec")
# Where a kind has the spec of its pods. Others cannot be patched: a Job's template is immutable, and a static pod
# belongs to its Node.
POD_SPEC: Mapping[str, tuple[str, ...]] = {
    "deployment": TEMPLATE, "statefulset": TEMPLATE, "daemonset": TEMPLATE, "replicaset": TEMPLATE,
    "replicationcontroller": TEMPLATE, "rollout": TEMPLATE,
    "cronjob": ("spec", "jobTemplate", "spec", "template", "spec"),
}  # fmt: skip
# Custom resources: the API server has no strategic merge for them, and `kubectl set` does not know them.
_CUSTOM = frozenset({"rollout"})
_SCALED = frozenset({"deployment", "statefulset", "replicaset", "replicationcontroller", "rollout"})
_EFFECTS = {"rollout": "starts a rollout", "cronjob": "from the next run on"}
# What a Deployment appends to the name of a ReplicaSet: Kubernetes' alphabet of random names.
_HASH = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{8,10}$")


@dataclass(frozen=True, slots=True)
class Owner:
    """`kind` in lower case as kubectl takes it, `spelled` as manifests have it."""

    spelled: str
    name: str

    @property
    def kind(self) -> str:
        return self.spelled.lower()

    def __str__(self) -> str:
        """ "deployment/coredns"."""
        return f"{self.kind}/{self.name}"

    @property
    def in_words(self) -> str:
        """ "Rollout api"."""
        return f"{self.spelled} {self.name}"

    @property
    def can_scale(self) -> bool:
        """Whether `kubectl scale` sets its number of pods."""
        return self.kind in _SCALED

    @property
    def is_built_in(self) -> bool:
        """Whether strategic merge patches and `kubectl set` change its pod template."""
        return self.kind in POD_SPEC and self.kind not in _CUSTOM

    @property
    def effect(self) -> str:
        """What a change of the template leads to, for labels."""
        return _EFFECTS.get(self.kind, "replaces the pods")

    def whole(self, pod_spec: Mapping[str, Any]) -> dict[str, Any]:
        """A patch of the workload from one of its pods' spec."""
        patch: dict[str, Any] = dict(pod_spec)
        for step in reversed(POD_SPEC.get(self.kind, TEMPLATE)):
            patch = {step: patch}
        return patch


def of(snapshot: Snapshot) -> Owner:
    """The owner of the subject; "deployment/NAME" if it is not known."""
    return of_view(snapshot.subject)


def of_view(view: ResourceView) -> Owner:
    """The owner of what has the facts of a workload; "deployment/NAME" if it is not known."""
    spelled, _, name = (view.fact("workload.owner") or "").partition("/")
    if not name:
        return Owner("Deployment", "NAME")
    if spelled == "ReplicaSet" and (above := _HASH.sub("", name)) != name:
        return Owner("Deployment", above)
    return Owner(spelled, name)


def change(snapshot: Snapshot, patch: dict[str, Any], now: dict[str, Any] | None = None) -> list[Change]:
    """A patch of the subject's workload for files in a repository; none if the workload is not known by name."""
    namespace = snapshot.subject.fact("workload.namespace")
    known = snapshot.subject.fact("workload.manager") == "kubernetes" and snapshot.subject.fact("workload.owner")
    if not known or not namespace:
        return []
    return [WorkloadChange(namespace=namespace, owner=str(of(snapshot)), patch=patch, now=now or {})]


def container_change(snapshot: Snapshot, content: dict[str, Any], now: dict[str, Any] | None = None) -> list[Change]:
    """The same for the subject's container; `now`: the part that is in force."""
    name = snapshot.subject.fact("workload.container")
    if not name:
        return []

    def whole(part: dict[str, Any]) -> dict[str, Any]:
        return of(snapshot).whole({"containers": [{"name": name, **part}]})

    return change(snapshot, whole(content), None if now is None else whole(now))
