"""The sustained faults of the event-loop lab, and the fixes that can be tried on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from labs.applying.ongoing import Ongoing, ProposedFix, bound
from labs.console import Say
from labs.eventloop.bench import Bench, bench
from labs.eventloop.variants import Parameters, Variant, expected_cause
from labs.eventloop.watched import LAB
from labs.limited import Window
from labs.noisy.loops import busy

_SECONDS = 1_500.0


@contextmanager
def ongoing(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Ongoing]:
    """The variant's fault, until the context ends."""
    with bench(parameters, folder, say) as made:
        window = Window.soon(_SECONDS, parameters.calm_seconds)
        with busy(made.neighbour, parameters.loops, window.from_us), made.stage.loaded(made.load, window) as goes_on:
            keys = (made.stage.cgroup.key,)
            yield Ongoing(LAB, variant.value, expected_cause(variant), keys, goes_on, bound(FIXES, made))


def _off_loop(now: Bench, _fix: ProposedFix) -> None:
    now.move_off()


FIXES: Mapping[str, Callable[[Bench, ProposedFix], None]] = {"off_loop": _off_loop}
