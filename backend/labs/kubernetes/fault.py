"""A case on the cluster: the fault that it makes in pods, the expected finding, and the fix to try."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from labs.applying.ongoing import ProposedFix
from labs.console import Say
from labs.kubernetes.cluster import Cluster


def first_patch(fix: ProposedFix) -> str:
    """The command that the incident offers to paste."""
    return str(fix["patches"][0]["text"])


@dataclass(frozen=True, slots=True)
class Fault:
    """`pod` is the affected one; `command` applies a fix. The rest is as in Ongoing."""

    pod: str
    goes_on: Callable[[], bool]
    before_s: float = 70.0
    to_incident_s: float = 90.0
    command: Callable[[ProposedFix], str] = first_patch


@dataclass(frozen=True, slots=True)
class Case:
    """`made` deploys the fault, and deletes it when the context ends. `title` is for the command's help."""

    number: int
    title: str
    cause: str
    fix: str
    made: Callable[[Cluster, Say], AbstractContextManager[Fault]]
