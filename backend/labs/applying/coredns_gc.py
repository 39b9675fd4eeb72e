"""The sustained faults of the coredns-gc lab, and the fixes that can be tried on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labs import coredns_gc
from labs.applying.ongoing import Ongoing, ProposedFix, bound, setting
from labs.console import Say
from labs.coredns_gc import Bench
from labs.variants import Parameters, Variant
from labs.watched import LAB, expected_cause

_SECONDS = 1_500.0


@contextmanager
def ongoing(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Ongoing]:
    """The variant's fault, until the context ends."""
    lasting = parameters.model_copy(update={"seconds": _SECONDS})
    with (
        coredns_gc.bench(variant, lasting, folder, say) as made,
        coredns_gc.loaded(made, say) as load,
    ):
        yield Ongoing(
            LAB,
            variant.value,
            expected_cause(variant),
            (made.cgroup.key,),
            load.goes_on,
            bound(FIXES, Running(made, load.parameters)),
        )


@dataclass(frozen=True, slots=True)
class Running:
    """The server under load, and its current settings."""

    made: Bench
    parameters: Parameters

    def restart(self, **changes: Any) -> None:  # noqa: ANN401
        """Restart with other settings of the Go runtime."""
        self.made.server.restart_with(coredns_gc.environment_of(self.parameters.model_copy(update=changes)))


def _limit(now: Running, fix: ProposedFix) -> None:
    p = now.parameters
    now.made.cgroup.limit_cpu(round(setting(fix, "cpu_limit") * p.period_us), p.period_us, p.burst_us)


def _burst(now: Running, fix: ProposedFix) -> None:
    p, quota_us = now.parameters, now.parameters.quota_us or -1
    now.made.cgroup.limit_cpu(quota_us, p.period_us, min(quota_us, round(setting(fix, "burst_us"))))


def _gomaxprocs(now: Running, fix: ProposedFix) -> None:
    now.restart(gomaxprocs=round(setting(fix, "gomaxprocs")))


def _gogc_off(now: Running, fix: ProposedFix) -> None:
    now.restart(gogc="off", gomemlimit=_gomemlimit(fix))


def _raise_gomemlimit(now: Running, fix: ProposedFix) -> None:
    now.restart(gomemlimit=_gomemlimit(fix))


def _unset_gomemlimit(now: Running, _fix: ProposedFix) -> None:
    now.restart(gomemlimit=None)


FIXES: Mapping[str, Callable[[Running, ProposedFix], None]] = {
    "raise_cpu_limit": _limit,
    "cfs_burst": _burst,
    "gomaxprocs": _gomaxprocs,
    "gogc_off_gomemlimit": _gogc_off,
    "raise_gomemlimit": _raise_gomemlimit,
    "unset_gomemlimit": _unset_gomemlimit,
}


def _gomemlimit(fix: ProposedFix) -> str:
    return f"{round(setting(fix, 'gomemlimit_bytes')) >> 20}MiB"
