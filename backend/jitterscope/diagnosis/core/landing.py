"""How to see that a fix was applied, declared beside the fix: `FIXES` of each module below areas/<area>/fixes/."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

# The newest facts of a workload at one time: those of its cgroup, node, processes, and DNS servers by name.
Facts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Seen:
    """`lands_as(before, after)` says whether the facts changed the way this fix changes them.

    `facts` are all that it can change; a change of any other watched fact makes it a different change. `how` explains
    it to users, as a sentence: "The CPU quota of the container rises." `servers_ratio(before, after)` of a fix that
    spreads the load over more servers: how many times as many there are.
    """

    how: str
    facts: tuple[str, ...]
    lands_as: Callable[[Facts, Facts], bool]
    servers_ratio: Callable[[Facts, Facts], float] | None = None


@dataclass(frozen=True, slots=True)
class Unseen:
    """Nothing that a collector records shows this fix; `why` explains it to users.

    It can be declared by hand, and is measured all the same. `adds_pods`: it spreads the load over more of them.
    """

    why: str
    adds_pods: bool = False


MORE_PODS = Unseen(
    "An autoscaler or a rollout changes the number of replicas as well: that alone is not this fix.", adds_pods=True
)


@dataclass(frozen=True, slots=True)
class FixKind:
    """A fix that causes can propose. `id` is never reused and the same in every cause that proposes it.

    `measures` are ids of its area's measures in the order in which they decide; empty: all of the area. `lab` is the
    command that tries it ("coredns-gc --apply raise_cpu_limit"); None if no lab can.
    """

    id: str
    title: str
    precondition: str
    landing: Seen | Unseen
    measures: tuple[str, ...] = ()
    lab: str | None = None


def changed(before: Facts, after: Facts, name: str) -> bool:
    """Whether a fact has another value, appeared, or disappeared."""
    return before.get(name) != after.get(name)


def differs(before: Facts, after: Facts, name: str) -> bool:
    """Whether a fact is known on both sides, with another value."""
    return name in before and name in after and changed(before, after, name)
