"""The faults of the service-gc lab, going on, and the fixes that can be tried on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from labs.applying.ongoing import Ongoing, ProposedFix, bound, setting
from labs.console import Say
from labs.limited import Limit, Window
from labs.service.bench import Bench, bench
from labs.service.variants import Parameters, Variant, expected_cause
from labs.service.watched import LAB

_SECONDS = 1_500.0


@contextmanager
def ongoing(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Ongoing]:
    """The variant's fault, until the context ends."""
    with bench(parameters, folder, say) as made, made.stage.loaded(made.load, Window.soon(_SECONDS, 0)) as goes_on:
        keys = (made.stage.cgroup.key,)
        yield Ongoing(LAB, variant.value, expected_cause(variant), keys, goes_on, bound(FIXES, made))


def _limit(now: Bench, fix: ProposedFix) -> None:
    p = now.parameters
    now.stage.limit(Limit(round(setting(fix, "cpu_limit") * p.period_us), p.period_us, p.burst_us))


FIXES: Mapping[str, Callable[[Bench, ProposedFix], None]] = {"raise_cpu_limit": _limit}
