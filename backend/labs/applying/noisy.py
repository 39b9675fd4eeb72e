"""The sustained faults of the noisy-neighbour lab, and the fixes that can be tried on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from labs.applying.ongoing import Ongoing, ProposedFix, bound, number_in
from labs.console import Say
from labs.limited import Window
from labs.noisy.bench import Bench, bench
from labs.noisy.loops import busy
from labs.noisy.variants import Parameters, Variant, expected_cause
from labs.noisy.watched import LAB

_SECONDS = 1_500.0


@contextmanager
def ongoing(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Ongoing]:
    """The variant's fault, until the context ends."""
    with bench(parameters, folder, say) as made:
        window = Window.soon(_SECONDS, parameters.calm_seconds)
        with (
            busy(made.neighbour, made.parameters.loops, window.from_us),
            made.stage.loaded(made.load, window) as goes_on,
        ):
            keys = (made.stage.cgroup.key,)
            yield Ongoing(LAB, variant.value, expected_cause(variant), keys, goes_on, bound(FIXES, made))


def _weight(now: Bench, fix: ProposedFix) -> None:
    """The number in the patch, in the unit of this machine's cgroups."""
    now.stage.cgroup.weight_file.write_text(str(number_in(fix, r"echo (\d+) >")))


def _limit_neighbour(now: Bench, fix: ProposedFix) -> None:
    now.neighbour.limit_cpu(number_in(fix, r"(\d+)(?: \d+)?\"? > \S*/cpu\.(?:max|cfs_quota_us)"), 100_000, 0)


FIXES: Mapping[str, Callable[[Bench, ProposedFix], None]] = {
    "raise_cpu_weight": _weight,
    "limit_neighbour": _limit_neighbour,
}
