"""Values of Helm charts: what most charts call what a change sets. A key that the file does not have is not guessed."""

from __future__ import annotations

from collections.abc import Iterator

from yaml.nodes import MappingNode, Node, SequenceNode

from jitterscope.diagnosis.core import owners
from jitterscope.diagnosis.core.finding import WorkloadChange
from jitterscope.pulls.files import in_force, yaml_text
from jitterscope.pulls.files import yaml_nodes as nodes
from jitterscope.pulls.files.errors import CannotChange
from jitterscope.pulls.files.steps import Named, Operation, Path, in_words, operations

_WHERE = "In the repository's settings, set the key under which the chart has it, or use a Kustomize patch."
_REPLICAS = ("replicaCount", "replicas")


def change_values(text: str, change: WorkloadChange, below: str = "") -> str:
    """The values with the change in them. `below` is the key that holds the workload's values: "controller".

    Raises CannotChange where the file lacks what is to change.
    """
    prefix: Path = tuple(part for part in below.split(".") if part)
    for one in operations(change.patch):
        documents = nodes.parse(text)
        if len(documents) != 1:
            raise CannotChange(
                "The file has no values, or more than one YAML document.", "Name the file with the values."
            )
        for operation in _as_values(documents[0], prefix, _pod_spec(change), one):
            text = yaml_text.change(text, 0, operation)
    return text


def notes_on(text: str, change: WorkloadChange, below: str = "") -> list[str]:
    """What the file has otherwise than what is in force, of the container's limits and requests."""
    documents = nodes.parse(text)
    prefix: Path = tuple(part for part in below.split(".") if part)
    in_container = len(_pod_spec(change)) + 2  # containers[name]
    return in_force.differences(documents[0], change, prefix, in_container) if documents else []


def _pod_spec(change: WorkloadChange) -> Path:
    return owners.POD_SPEC.get(change.owner.partition("/")[0], owners.TEMPLATE)


def _as_values(document: Node, prefix: Path, pod_spec: Path, one: Operation) -> Iterator[Operation]:
    path = one.path
    if path == ("spec", "replicas"):
        known = [(*prefix, name) for name in _REPLICAS if not nodes.find(document, (*prefix, name)).missing]
        if not known:
            raise CannotChange(f"The file sets no {' or '.join(in_words((*prefix, n)) for n in _REPLICAS)}.", _WHERE)
        yield Operation(known[0], one.value)
        return
    pod = path[len(pod_spec) :] if path[: len(pod_spec)] == pod_spec else ()
    if len(pod) > 2 and pod[0] == "containers" and isinstance(pod[1], Named):
        rest = pod[2:]
        if rest[0] == "env":
            yield _environment(document, prefix, rest, one)
            return
    else:
        rest = pod
    if not rest or nodes.find(document, (*prefix, rest[0])).missing:
        raise CannotChange(f"The file does not set {in_words((*prefix, *rest[:1])) or 'it'}.", _WHERE)
    if "limits" in rest and nodes.find(document, (*prefix, *rest)).missing:
        raise CannotChange(
            f"The file does not set {in_words((*prefix, *rest))}, though that limit is in effect: it comes from "
            "somewhere else, such as the chart's own values.",
            _WHERE,
        )
    yield Operation((*prefix, *rest), one.value)


def _environment(document: Node, prefix: Path, rest: Path, one: Operation) -> Operation:
    """`env` as a list of names and values, or as a map of them: as the file has it."""
    found = nodes.find(document, (*prefix, "env"))
    name = rest[1]
    assert isinstance(name, Named)
    if found.missing or not isinstance(found.node, SequenceNode | MappingNode):
        raise CannotChange(f"The file does not set {in_words((*prefix, 'env'))}, as a list or as a map.", _WHERE)
    if isinstance(found.node, MappingNode):
        return Operation((*prefix, "env", name.name), one.value)
    return Operation((*prefix, *rest), one.value)
