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
# How many pods these have is not scaled: it follows the nodes, or each pod does one piece of work.
_NOT_SCALED = frozenset({"DaemonSet", "Job", "CronJob", ""})


@dataclass(frozen=True, slots=True)
class Pod:
    """`node_last_us`: when its node was last heard from."""

    created_us: int
    last_seen_us: int
    node_last_us: int


@dataclass(frozen=True, slots=True)
class Scaling:
    at_us: int
    before: int
    after: int


def is_scaled(owner: str) -> bool:
    """Whether the number of pods of this KIND/NAME is a setting."""
    return owner.partition("/")[0] not in _NOT_SCALED


def scalings(pods: Sequence[Pod], from_us: int) -> Iterator[Scaling]:
    """Changes of the number of pods since a time, oldest first; `pods` are all that were there since then."""
    now_us = max((pod.node_last_us for pod in pods), default=0)
    # Whether a pod of a silent node is still there is not known, nor how many there are then.
    silent_us = [pod.node_last_us for pod in pods if _is_there(pod) and pod.node_last_us < now_us - _RESTARTS_US]
    known_us = min(silent_us, default=now_us)
    moves = [(pod.created_us, 1) for pod in pods]
    moves = sorted(moves + [(pod.last_seen_us, -1) for pod in pods if not _is_there(pod)])
    count = 0
    for together in _groups(moves):
        before, count = count, count + sum(step for _, step in together)
        at_us = together[0][0]
        is_first = at_us == moves[0][0]
        if before != count and not is_first and at_us > from_us and together[-1][0] <= known_us:
            yield Scaling(at_us, before, count)


def _is_there(pod: Pod) -> bool:
    return pod.last_seen_us >= pod.node_last_us - _RESTARTS_US


def _groups(moves: Iterable[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    group: list[tuple[int, int]] = []
    for move in moves:
        if group and move[0] - group[-1][0] > _TOGETHER_US:
            yield group
            group = []
        group.append(move)
    if group:
        yield group
