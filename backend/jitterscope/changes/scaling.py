"""How many pods a workload had, from when each existed: what a person or an autoscaler scaled. Pure.

No right to read Deployments or autoscalers is needed for that, and it shows what was scaled, not what was wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

# A rollout replaces pods one after another, and each new one can take minutes to start.
_TOGETHER_US = 10 * 60 * 1_000_000
# A pod is there while its container waits to be restarted, for up to 5 min, and `last_seen_us` is a minute late.
_RESTARTS_US = 7 * 60 * 1_000_000
# A controller creates the pods of a new workload within seconds of each other, but a StatefulSet waits for each.
_CREATED_US = 60 * 1_000_000
# How many pods others have is not scaled: it follows the nodes, or each pod does one piece of work, as of a Job or of a
# workflow.
_SCALED = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "Rollout", "StatefulSet"})


@dataclass(frozen=True, slots=True)
class Pod:
    """`node_last_us`: when its node was last heard from. `revision`: of its template; None: not known."""

    created_us: int
    last_seen_us: int
    node_last_us: int
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class Scaling:
    at_us: int
    before: int
    after: int


def is_scaled(owner: str) -> bool:
    """Whether the number of pods of this KIND/NAME is a setting."""
    return owner.partition("/")[0] in _SCALED


def created_at_once(owner: str) -> bool:
    """Whether the pods of a new workload are created together."""
    return is_scaled(owner) and not owner.startswith("StatefulSet/")


def scalings(pods: Sequence[Pod], from_us: int, at_once: bool = False) -> Iterator[Scaling]:
    """Changes of the number of pods since a time, oldest first; `pods` are all that were there since then.

    `at_once`: the pods of a new workload are created together, so that later ones are more.
    """
    now_us = max((pod.node_last_us for pod in pods), default=0)
    # Whether a pod of a silent node is still there is not known, nor how many there are then.
    silent_us = [pod.node_last_us for pod in pods if _is_there(pod) and pod.node_last_us < now_us - _RESTARTS_US]
    known_us = min(silent_us, default=now_us)
    moves = [(pod.created_us, 1) for pod in pods]
    moves = sorted(moves + [(pod.last_seen_us, -1) for pod in pods if not _is_there(pod)])
    count = 0
    for together in _groups(moves, _first(pods) if at_once else 0):
        before, count = count, count + sum(step for _, step in together)
        at_us = together[0][0]
        is_first = at_us == moves[0][0]
        if before != count and not is_first and at_us > from_us and together[-1][0] <= known_us:
            yield Scaling(at_us, before, count)


def _is_there(pod: Pod) -> bool:
    return pod.last_seen_us >= pod.node_last_us - _RESTARTS_US


def _first(pods: Sequence[Pod]) -> int:
    """How many pods a new workload had; 0 if several templates show a rollout, which also creates some later."""
    created = sorted(pod.created_us for pod in pods)
    revisions = {pod.revision for pod in pods}
    if not created or len(revisions) > 1 or None in revisions:
        return 0
    return sum(at_us - created[0] <= _CREATED_US for at_us in created)


def _groups(moves: Iterable[tuple[int, int]], first: int) -> Iterator[list[tuple[int, int]]]:
    """Moves that are one change; the first ones, if given, are one of their own."""
    group: list[tuple[int, int]] = []
    for number, move in enumerate(moves):
        if group and (number == first or move[0] - group[-1][0] > _TOGETHER_US):
            yield group
            group = []
        group.append(move)
    if group:
        yield group
