"""What the LimitRanges and quotas of the subject's namespace allow: the API server refuses whatever exceeds them.

The collector records both for each container. What is not recorded is not known, and nothing is said about it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from jitterscope.diagnosis.core import qos
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.area import WatchedFact
from jitterscope.diagnosis.core.json_fact import parsed
from jitterscope.diagnosis.core.signals import number, quota_of
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

LIMIT_RANGE, QUOTA = "workload.limit_range", "workload.quota"
Resource = Literal["cpu", "memory"]
_MIB = 1 << 20
# Quotas are read from texts such as "1500m", and limits are rounded.
_EXACT = 1 + 1e-6


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a resource is named in both facts, and its amounts shown. `most`: in a LimitRange."""

    resource: Resource
    most: str
    ratio: str
    requested: str
    of_pod: Callable[[ResourceView], float | None]
    show: Callable[[float], str]

    def up(self, amount: float) -> str:
        """The amount, rounded up to what people write."""
        step = 0.001 if self.resource == "cpu" else float(_MIB)
        return self.show(math.ceil(round(amount / step, 3)) * step)


def _cpus(amount: float) -> str:
    return f"{round(amount, 3):g} CPU"


_CPU = _Kind("cpu", "max_cpus", "max_cpu_ratio", "workload.requested_cpus", quota_of, _cpus)
_MEMORY = _Kind(
    "memory", "max_bytes", "max_memory_ratio", "workload.requested_bytes",
    lambda view: number(view.fact("memory.limit_bytes")), say.mebibytes,
)  # fmt: skip


def raised_cpus(snapshot: Snapshot, old: float, new: float) -> list[str]:
    """What refuses this CPU limit of the subject, each as a caveat with what to change first."""
    return list(_refusals(snapshot, _CPU, old, new))


def raised_bytes(snapshot: Snapshot, old: float, new: float) -> list[str]:
    """The same for a memory limit."""
    return list(_refusals(snapshot, _MEMORY, old, new))


def unknown(snapshot: Snapshot) -> list[str]:
    """Which of both is not known: whether it refuses something is for the reader to check."""
    return [name for fact, name in ((LIMIT_RANGE, "a LimitRange"), (QUOTA, "a quota")) if not _read(snapshot, fact)]


def has_quota(facts: Mapping[str, str]) -> bool:
    """Whether a quota counts the limits of a container with these facts."""
    return bool(parsed(facts.get(QUOTA)))


def _refusals(snapshot: Snapshot, kind: _Kind, old: float, new: float) -> Iterator[str]:
    yield from _by_limit_range(snapshot, kind, old, new)
    quotas = parsed(snapshot.subject.fact(QUOTA)) or {}
    guaranteed = qos.of(snapshot) == "Guaranteed"  # its requests rise too
    for part in ("limits", "requests") if guaranteed else ("limits",):
        for name in sorted(quotas):
            said = _by_quota(snapshot, kind, name, f"{part}.{kind.resource}", new - old)
            if said is not None:
                yield said


def _by_limit_range(snapshot: Snapshot, kind: _Kind, old: float, new: float) -> Iterator[str]:
    allowed = parsed(snapshot.subject.fact(LIMIT_RANGE)) or {}
    most = _number(allowed, "container", kind.most)
    if most is not None and new > most * _EXACT:
        yield (
            f"The namespace's LimitRange allows a container at most {kind.show(most)}: raise that to {kind.up(new)} "
            "first."
        )
    most = _number(allowed, "pod", kind.most)
    together = max(new, _of_pod(snapshot, kind) - old + new)
    if most is not None and together > most * _EXACT:
        yield (
            f"The namespace's LimitRange allows a pod at most {kind.show(most)}, and this makes {kind.up(together)}: "
            "raise that first."
        )
    ratio, request = _number(allowed, "container", kind.ratio), number(snapshot.subject.fact(kind.requested))
    # Requests of a Guaranteed pod rise with its limits.
    if ratio and request and new > ratio * request * _EXACT and qos.of(snapshot) != "Guaranteed":
        yield (
            f"The namespace's LimitRange allows a limit of at most {ratio:g} × the request, which is "
            f"{kind.show(request)}: raise the request to {kind.up(new / ratio)} too."
        )


def _by_quota(snapshot: Snapshot, kind: _Kind, quota: str, of: str, more: float) -> str | None:
    quotas = parsed(snapshot.subject.fact(QUOTA)) or {}
    hard, used = _number(quotas, quota, of, "hard"), _number(quotas, quota, of, "used")
    if hard is None or used is None:
        return None
    left, replicas = max(0.0, hard - used), snapshot.replicas or 1
    needed = more * replicas
    if needed <= left * _EXACT:
        return None
    each = "" if replicas == 1 else f" in each of {replicas} replicas"
    return (
        f"The namespace's quota {quota} had {kind.show(left)} of {kind.show(hard)} left ({of}), and this takes "
        f"{kind.up(more)} more{each}: raise {of} to {kind.up(used + needed)} first."
    )


def _of_pod(snapshot: Snapshot, kind: _Kind) -> float:
    """What the pod's cgroup is limited to: the sum of its containers if each has a limit. 0: not known."""
    above = snapshot.ancestors[0] if snapshot.ancestors else None
    if above is None or not above.fact("workload.pod") or above.fact("workload.container"):
        return 0.0
    return max(0.0, kind.of_pod(above) or 0.0)


def _read(snapshot: Snapshot, fact: str) -> bool:
    return parsed(snapshot.subject.fact(fact)) is not None


def _number(found: object, *path: str) -> float | None:
    for step in path:
        found = found.get(step) if isinstance(found, Mapping) else None
    return float(found) if isinstance(found, int | float) else None


# How bounds of a LimitRange read, in order.
_BOUNDS: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("min_cpus", lambda amount: f"CPU at least {amount:g}"),
    ("max_cpus", lambda amount: f"CPU at most {amount:g}"),
    ("max_cpu_ratio", lambda amount: f"CPU limit at most {amount:g} × the request"),
    ("min_bytes", lambda amount: f"memory at least {say.mebibytes(amount)}"),
    ("max_bytes", lambda amount: f"memory at most {say.mebibytes(amount)}"),
    ("max_memory_ratio", lambda amount: f"memory limit at most {amount:g} × the request"),
)


def _show_limit_range(value: str | None) -> str | None:
    """ "container: CPU at most 1; pod: memory at most 2,048 MiB"."""
    allowed = parsed(value)
    if allowed is None:
        return None
    parts = []
    for of in ("container", "pod"):
        said = [show(amount) for name, show in _BOUNDS if (amount := _number(allowed, of, name)) is not None]
        parts += [f"{of}: {', '.join(said)}"] if said else []
    return "; ".join(parts) or "none"


def _show_quotas(value: str | None) -> str | None:
    """ "team: limits.cpu 10, limits.memory 20,480 MiB": how much is used is no setting."""
    quotas = parsed(value)
    if quotas is None:
        return None
    parts = []
    for name in sorted(quotas):
        of = quotas[name] if isinstance(quotas[name], Mapping) else {}
        hard = [(resource, amount) for resource in sorted(of) if (amount := _number(of, resource, "hard")) is not None]
        shown = [f"{at} {say.mebibytes(most) if at.endswith('memory') else f'{most:g}'}" for at, most in hard]
        parts.append(f"{name}: {', '.join(shown)}")
    return "; ".join(parts) or "none"


WATCHED = (
    WatchedFact(LIMIT_RANGE, "LimitRange", "subject", _show_limit_range, of_namespace=True, late=True),
    WatchedFact(QUOTA, "Quota", "subject", _show_quotas, of_namespace=True, late=True),
)
