"""Which series of other systems are selected: by name, labels, and the resource that they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Operator = Literal["=", "!=", "~"]


@dataclass(frozen=True, slots=True)
class Match:
    """A condition on a label: "=" has this value, "!=" another or none, "~" contains it (case-insensitive)."""

    label: str
    operator: Operator
    value: str


@dataclass(frozen=True, slots=True)
class Clause:
    """Labels that a series must have, and labels that it must not have."""

    labels: dict[str, str]
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Belonging:
    """What makes a series belong to a resource; any one of these suffices.

    `hosts` are those of scrape targets with any port, `instances` are complete ones. Series with a label of
    `targets_without` do not belong through those. `local_instances` have loopback addresses: they count only together
    with a label of `node_labels` whose value is one of `node_names`.
    """

    resource_ids: tuple[int, ...] = ()
    clauses: tuple[Clause, ...] = ()
    hosts: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    targets_without: tuple[str, ...] = ()
    local_instances: tuple[str, ...] = ()
    node_labels: tuple[str, ...] = ()
    node_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """Which series to select. `seen_from_us`: only those with samples since then, to the hour."""

    name: str | None = None
    containing: str = ""
    matches: tuple[Match, ...] = ()
    belonging: Belonging | None = None
    seen_from_us: int | None = None
