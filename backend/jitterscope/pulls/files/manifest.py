"""Kubernetes manifests, and the strategic merge patches that Kustomize applies to them."""

from __future__ import annotations

from collections.abc import Sequence

from yaml.nodes import Node

from jitterscope.diagnosis.core.finding import WorkloadChange
from jitterscope.pulls.files import in_force, yaml_text
from jitterscope.pulls.files import yaml_nodes as nodes
from jitterscope.pulls.files.errors import CannotChange
from jitterscope.pulls.files.steps import Named, Operation, in_words, operations

# Workload controllers, as the API server spells and groups them.
_KINDS = {
    "deployment": ("Deployment", "apps/v1"),
    "statefulset": ("StatefulSet", "apps/v1"),
    "daemonset": ("DaemonSet", "apps/v1"),
    "replicaset": ("ReplicaSet", "apps/v1"),
    "job": ("Job", "batch/v1"),
    "cronjob": ("CronJob", "batch/v1"),
    "rollout": ("Rollout", "argoproj.io/v1alpha1"),
}
# Kustomize knows no schema of these: a list in a patch replaces the whole list, such as all containers.
_CUSTOM = frozenset({"rollout"})
_ANOTHER_FILE = "Name the file that has it in the repository's settings, or use a new Kustomize patch file."


def change_manifest(text: str, change: WorkloadChange) -> str:
    """Apply a change to the manifest. Raises CannotChange if the file lacks what is to change."""
    document = _document(nodes.parse(text), change)
    if document is None:
        found = ", ".join(_names(nodes.parse(text))) or "no object"
        raise CannotChange(
            f"The file has no {change.owner} in namespace {change.namespace}: it has {found}.", _ANOTHER_FILE
        )
    for one in operations(change.patch):
        _must_be_there(nodes.parse(text)[document], one)
        text = yaml_text.change(text, document, one)
    return text


def patch_name(change: WorkloadChange) -> str:
    """The name of a new patch file: "jitterscope-deployment-coredns.yaml"."""
    return f"jitterscope-{change.owner.replace('/', '-')}.yaml"


def change_patch(text: str | None, change: WorkloadChange) -> str:
    """Apply a change to a patch file; adds the workload's part if the file has none yet."""
    kind = change.owner.partition("/")[0]
    if kind in _CUSTOM and any(isinstance(step, Named) for one in operations(change.patch) for step in one.path):
        raise CannotChange(
            f"In a Kustomize patch, containers of a {_KINDS[kind][0]} would replace all of its containers.",
            "Name its manifest or its Helm values in the repository's settings.",
        )
    if text is None or not text.strip():
        return _whole(change)
    documents = nodes.parse(text)
    document = _document(documents, change)
    if document is None:
        end = yaml_text.line_end(text)
        start = text if text.endswith("\n") else text + end
        added = f"---{end}" + _whole(change).replace("\n", end)
        return start + added if documents else start + _whole(change)
    for one in operations(change.patch):
        if one.value is None:
            raise CannotChange(
                f"{in_words(one.path)} must be removed, but the patch file already exists.",
                "Add `$patch: delete` to its entry by hand.",
            )
        text = yaml_text.change(text, document, one)
    return text


def notes_on(text: str, change: WorkloadChange) -> list[str]:
    """Where the file differs from what is in effect."""
    documents = nodes.parse(text)
    document = _document(documents, change)
    return [] if document is None else in_force.differences(documents[document], change)


def can_be_written(change: WorkloadChange) -> bool:
    """Whether the workload is of a kind whose manifests are known."""
    return change.owner.partition("/")[0] in _KINDS


def _whole(change: WorkloadChange) -> str:
    kind, _, name = change.owner.partition("/")
    if kind not in _KINDS:
        raise CannotChange(f"A {kind} cannot be changed by a patch.", "Change its manifest by hand.")
    spelled, version = _KINDS[kind]
    head = {
        "apiVersion": version, "kind": spelled, "metadata": {"name": name, "namespace": change.namespace},
    }  # fmt: skip
    return yaml_text.block(head | change.patch, 0)


def _document(documents: Sequence[Node], change: WorkloadChange) -> int | None:
    kind, _, name = change.owner.partition("/")
    found = [
        number
        for number, node in enumerate(documents)
        if (nodes.text_at(node, "kind") or "").lower() == kind
        and nodes.text_at(node, "metadata", "name") == name
        # If the file has no namespace, Kustomize, Flux, or Argo CD sets one.
        and nodes.text_at(node, "metadata", "namespace") in (None, change.namespace)
    ]
    if len(found) > 1:
        raise CannotChange(f"The file has {len(found)} objects that are {change.owner}.", "Keep one of them.")
    return found[0] if found else None


def _names(documents: Sequence[Node]) -> list[str]:
    kept = [
        f"{kind}/{nodes.text_at(node, 'metadata', 'name') or '?'}"
        for node in documents
        if (kind := nodes.text_at(node, "kind")) is not None
    ]
    return kept if len(kept) <= 5 else [*kept[:5], f"{len(kept) - 5} more"]


def _must_be_there(document: Node, operation: Operation) -> None:
    """Check what a file must have before a value changes: the container, and a limit that is already in effect."""
    path = operation.path
    if "containers" in path:
        container = path[: path.index("containers") + 2]
        if nodes.find(document, container).missing:
            raise CannotChange(f"The file does not have {in_words(container)}.", _ANOTHER_FILE)
    if "limits" in path and nodes.find(document, path).missing:
        raise CannotChange(
            f"The file does not set {in_words(path)}, though that limit is in effect: it comes from somewhere else.",
            _ANOTHER_FILE,
        )
    if path[-1] == "value" and "env" in path:
        entry = nodes.find(document, path[:-1])
        if not entry.missing and nodes.child(entry.node, "valueFrom") is not None:
            raise CannotChange(
                f"The file takes {path[-2]} from somewhere else (valueFrom).", "Replace valueFrom by hand."
            )
