"""The sustained faults of the disk-stall lab, and the fixes that can be tried on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from labs.applying.ongoing import Ongoing, ProposedFix, bound, number_in
from labs.console import Say
from labs.disk.bench import Bench, bench
from labs.disk.variants import Parameters, Variant, expected_cause
from labs.disk.watched import LAB
from labs.limited import Window
from labs.volumes import limit_io

_SECONDS = 1_500.0


@contextmanager
def ongoing(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Ongoing]:
    """The variant's fault, until the context ends."""
    with bench(parameters, folder, say) as made, made.stage.loaded(made.load, Window.soon(_SECONDS)) as goes_on:
        keys = (made.stage.cgroup.key,)
        yield Ongoing(LAB, variant.value, expected_cause(variant), keys, goes_on, bound(FIXES, made))


def _raise(now: Bench, fix: ProposedFix) -> None:
    limit_io(now.stage.cgroup, now.volume, write_bps=number_in(fix, r"(?:wbps=|\d+:\d+ )(\d+)"))


FIXES: Mapping[str, Callable[[Bench, ProposedFix], None]] = {"raise_io_limit": _raise}
