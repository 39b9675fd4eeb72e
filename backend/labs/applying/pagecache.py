"""The sustained faults of the page-cache lab, and the fixes that can be tried on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from labs.applying.ongoing import Ongoing, ProposedFix, bound, number_in
from labs.console import Say
from labs.limited import Window
from labs.pagecache.bench import Bench, bench
from labs.pagecache.variants import Parameters, Variant, expected_cause
from labs.pagecache.watched import LAB

_SECONDS = 1_500.0


@contextmanager
def ongoing(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Ongoing]:
    """The variant's fault, until the context ends."""
    with (
        bench(parameters, folder, say) as made,
        made.stage.loaded(made.load, Window.soon(_SECONDS, parameters.settle_s)) as goes_on,
    ):
        keys = (made.stage.cgroup.key,)
        yield Ongoing(LAB, variant.value, expected_cause(variant), keys, goes_on, bound(FIXES, made))


def _raise(now: Bench, fix: ProposedFix) -> None:
    now.stage.cgroup.limit_memory(number_in(fix, r"echo (\d+) >"))


FIXES: Mapping[str, Callable[[Bench, ProposedFix], None]] = {"raise_memory_limit_for_files": _raise}
