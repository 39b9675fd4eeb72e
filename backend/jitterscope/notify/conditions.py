"""Which incidents a channel is for: shell patterns over cause, namespace, resource, and node. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import Field, StringConstraints

from jitterscope.kit.schema import Schema
from jitterscope.notify.payload import PayloadSubject

MOST_PATTERNS, LONGEST_PATTERN = 20, 200
# No control characters: no name has one.
Pattern = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_PATTERN, pattern=r"^[^\x00-\x1f\x7f]+$"),
]
Patterns = Annotated[list[Pattern], Field(max_length=MOST_PATTERNS)]


class Conditions(Schema):
    """Shell patterns (`*`, `?`, `[a-z]`), case-insensitive. `*` also matches `/`. An empty list matches everything;
    otherwise one pattern of each list must match."""

    causes: Patterns = Field(default_factory=list, description="Patterns of the cause's id: `cpu/*`")
    namespaces: Patterns = Field(
        default_factory=list,
        description="Patterns of the Kubernetes namespace. A resource without one matches no pattern.",
    )
    resources: Patterns = Field(
        default_factory=list, description="Patterns of the resource's name, pod, container, workload, or cgroup path"
    )
    nodes: Patterns = Field(default_factory=list, description="Patterns of the node's name")


@dataclass(frozen=True, slots=True)
class Place:
    """What conditions see of a subject: its namespace, if any, all of its names, and its node."""

    namespace: str | None
    names: frozenset[str]
    node: str


def place_of(subject: PayloadSubject) -> Place:
    """A subject with all its names: the path and its parts, "coredns-7c9", "coredns", "kube-system/coredns"."""
    names = {subject.name, subject.key, subject.pod, subject.container, subject.workload}
    if subject.namespace is not None:
        names |= {f"{subject.namespace}/{one}" for one in (subject.pod, subject.workload) if one is not None}
    return Place(subject.namespace, frozenset(name for name in names if name), subject.node)


def matches(conditions: Conditions, cause: str, places: Iterable[Place]) -> bool:
    """Whether the cause matches and one of the places matches every condition."""
    return _any(conditions.causes, (cause,)) and any(_is_at(conditions, place) for place in places)


def _is_at(conditions: Conditions, place: Place) -> bool:
    return (
        _any(conditions.namespaces, () if place.namespace is None else (place.namespace,))
        and _any(conditions.nodes, (place.node,))
        and _any(conditions.resources, place.names)
    )


def _any(patterns: list[str], names: Iterable[str]) -> bool:
    if not patterns:
        return True
    lowered = [name.lower() for name in names]
    return any(fnmatchcase(name, pattern.lower()) for pattern in patterns for name in lowered)
