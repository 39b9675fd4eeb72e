"""A case on the cluster: the fault that it makes in pods, the expected finding, and the fix to try."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from labs.applying.ongoing import TO_NOTICE_S, ProposedFix
from labs.console import Say
from labs.errors import LabError
from labs.kubernetes.cluster import Cluster

# How long the load lasts: longer than a case takes with its fix.
LOAD_S = 1_500


class Parameters(BaseModel):
    """What a case can be given; each has its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)


P = TypeVar("P", bound=Parameters)


@dataclass(frozen=True, slots=True)
class Fault:
    """`pod` is the affected one. `command` applies the case's fix if its patches do not. The rest is as in Ongoing."""

    pod: str
    goes_on: Callable[[], bool]
    before_s: float = 70.0
    to_incident_s: float = 90.0
    to_notice_s: float = TO_NOTICE_S
    command: Callable[[ProposedFix], str] | None = None


@dataclass(frozen=True, slots=True)
class Case(Generic[P]):
    """`made` deploys the fault, and deletes it when the context ends. `title` is for the command's help."""

    name: str
    title: str
    cause: str
    fix: str
    parameters: type[P]
    made: Callable[[Cluster, P, Say], AbstractContextManager[Fault]]

    def given(self, pairs: Sequence[str]) -> P:
        """The parameters from NAME=VALUE pairs. Raises LabError if there is no such parameter, or for a bad value."""
        told: dict[str, str] = {}
        for pair in pairs:
            name, is_pair, value = pair.partition("=")
            if not is_pair or name not in self.parameters.model_fields:
                known = ", ".join(self.parameters.model_fields)
                raise LabError(f"--set {pair}: case {self.name} takes NAME=VALUE with one of these names: {known}.")
            told[name] = value
        try:
            return self.parameters.model_validate(told)
        except ValidationError as error:
            wrong = [f"--set {'.'.join(map(str, one['loc']))}={one['input']}: {one['msg']}" for one in error.errors()]
            raise LabError("; ".join(wrong)) from error
