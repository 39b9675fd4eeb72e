"""What servers did in a window: rate, failures, latency, throttling of their containers. None: not measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.served import METRICS
from jitterscope.inventory.types import ResourceKind
from jitterscope.kit.allowance import borrowed, hold
from jitterscope.series import service as series
from jitterscope.series.rollups import Rollup
from jitterscope.series.types import TICK_US, FloatArray

_PER_SECOND = 1_000_000 / TICK_US
_PER_MINUTE = 60 * _PER_SECOND
# An answer can count as a failure only if the protocol is read; for other servers only a missing answer does.
_SERVER_ERRORS, _GRPC_ERRORS = "http_server_errors", "grpc_server_errors"
_ERRORS: Mapping[str, tuple[str, ...]] = {
    "dns_server": ("dns_servfail", "dns_refused"), "tcp_server": (_SERVER_ERRORS, _GRPC_ERRORS)
}  # fmt: skip
_THROTTLED = "cpu_throttled_us"
_METRICS = tuple(
    sorted({METRICS[figure][kind] for figure in ("requests", "slow", "lost", "latency_max") for kind in _ERRORS}
           | {name for names in _ERRORS.values() for name in names} | {_THROTTLED})
)  # fmt: skip
# Memory limit: servers whose minutes are held at once.
_AT_ONCE = 40

Minutes = Mapping[tuple[int, str], Rollup]


@dataclass(frozen=True, slots=True)
class Watched:
    """A server and its cgroup, if it has one."""

    id: int
    kind: ResourceKind
    node_id: int
    cgroup_id: int | None


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of a server; ratios are relative to all requests, times are µs.

    `server_errors_per_s`: answers with status 5xx, `grpc_errors_per_s`: with a gRPC code for a failed server; None if
    no status was seen. `worst_us`: the slowest answer of each minute, NaN if there was none.
    """

    requests_per_s: float | None
    failed_ratio: float | None
    server_errors_per_s: float | None
    grpc_errors_per_s: float | None
    slow_ratio: float | None
    max_us: float | None
    worst_us: FloatArray
    throttled_ms_per_min: float | None


def read(session: Session, servers: Sequence[Watched], from_us: int, to_us: int) -> Iterator[tuple[int, Figures]]:
    """Figures of each server by id. The window consists of whole minutes."""
    minutes = (to_us - from_us) // 60_000_000
    hold(len(servers) * minutes * 8)
    # Servers of a node are read together: their ticks are in the same blocks.
    ordered = sorted(servers, key=lambda one: (one.node_id, one.id))
    for at in range(0, len(ordered), _AT_ONCE):
        part = ordered[at : at + _AT_ONCE]
        with borrowed():
            ids = {one.id for one in part} | {one.cgroup_id for one in part if one.cgroup_id is not None}
            found = series.read_minutes(session, sorted(ids), _METRICS, from_us, to_us)
            yield from ((one.id, _figures(one, found, minutes)) for one in part)


def quantiles(session: Session, server: Watched, from_us: int, to_us: int) -> tuple[float | None, float | None]:
    """p50 and p99 of its answers, µs."""
    found = series.read_quantiles(session, [server.id], METRICS["latency"][server.kind], (0.5, 0.99), from_us, to_us)
    return (None, None) if found is None else (found[0], found[1])


def quantile(session: Session, server: Watched, q: float, from_us: int, to_us: int) -> float | None:
    """The q-quantile (0..1) of its answers, µs."""
    found = series.read_quantiles(session, [server.id], METRICS["latency"][server.kind], (q,), from_us, to_us)
    return None if found is None else found[0]


def _figures(server: Watched, found: Minutes, minutes: int) -> Figures:
    def mean(name: str) -> float | None:
        return _per_tick(found.get((server.id, name)))

    requests = mean(METRICS["requests"][server.kind])
    failures = [mean(name) for name in (METRICS["lost"][server.kind], *_ERRORS[server.kind])]
    known = [one for one in failures if one is not None]
    errors, grpc_errors = mean(_SERVER_ERRORS), mean(_GRPC_ERRORS)
    slowest = found.get((server.id, METRICS["latency_max"][server.kind]))
    worst = np.full(minutes, np.nan) if slowest is None else slowest.high.copy()  # a copy, so the rest is freed
    throttled = None if server.cgroup_id is None else _per_tick(found.get((server.cgroup_id, _THROTTLED)))
    return Figures(
        requests_per_s=None if requests is None else requests * _PER_SECOND,
        failed_ratio=_share(sum(known) if known else None, requests),
        server_errors_per_s=None if errors is None else errors * _PER_SECOND,
        grpc_errors_per_s=None if grpc_errors is None else grpc_errors * _PER_SECOND,
        slow_ratio=_share(mean(METRICS["slow"][server.kind]), requests),
        max_us=None if np.isnan(worst).all() else float(np.nanmax(worst)),
        worst_us=worst,
        throttled_ms_per_min=None if throttled is None else throttled * _PER_MINUTE / 1000,
    )


def _per_tick(minutes: Rollup | None) -> float | None:
    """The mean over the recorded ticks."""
    return None if minutes is None else float(np.nansum(minutes.total) / minutes.ticks.sum())


def _share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None
