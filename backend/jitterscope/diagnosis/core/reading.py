"""Readings: computed once per snapshot, however many causes, fixes, and what-ifs use them.

    @reading
    def throttling(snapshot: Snapshot) -> Throttling: ...

The snapshot itself keeps the result, which lives as long as it does. Further arguments must be hashable.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

from jitterscope.diagnosis.core.snapshot import Snapshot

P = ParamSpec("P")
T = TypeVar("T")


def reading(
    compute: Callable[Concatenate[Snapshot, P], T],
) -> Callable[Concatenate[Snapshot, P], T]:
    """Compute once per snapshot and arguments. Exceptions are not cached."""

    @wraps(compute)
    def once(snapshot: Snapshot, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (compute, args, tuple(sorted(kwargs.items())))
        kept = snapshot.readings
        if key not in kept:
            kept[key] = compute(snapshot, *args, **kwargs)
        return cast("T", kept[key])

    return once
