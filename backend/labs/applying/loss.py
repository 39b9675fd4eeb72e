"""The sustained faults of the packet-loss lab, and the fixes that can be tried on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from labs.applying.ongoing import Ongoing, ProposedFix, bound
from labs.console import Say
from labs.limited import Window
from labs.loss.bench import Bench, bench
from labs.loss.variants import Parameters, Variant, expected_cause
from labs.loss.watched import LAB

_SECONDS = 1_500.0


@contextmanager
def ongoing(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Ongoing]:
    """The variant's fault, until the context ends."""
    with bench(parameters, folder, say) as made, made.stage.loaded(made.load, Window.soon(_SECONDS, 0)) as goes_on:
        keys = (made.stage.cgroup.key,)
        yield Ongoing(LAB, variant.value, expected_cause(variant), keys, goes_on, bound(FIXES, made))


def _repair(now: Bench, _fix: ProposedFix) -> None:
    now.repair()


FIXES: Mapping[str, Callable[[Bench, ProposedFix], None]] = {"repair_path": _repair}
