"""The sustained faults of the accept-queue lab, and the fixes that can be tried on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from labs.applying.ongoing import Ongoing, ProposedFix, bound
from labs.console import Say
from labs.crowd.bench import Bench, bench, loaded
from labs.crowd.variants import Parameters, Variant, expected_cause
from labs.crowd.watched import LAB
from labs.errors import LabError
from labs.limited import Window

_SECONDS = 1_500.0


@dataclass(frozen=True, slots=True)
class _Running:
    bench: Bench
    keep: Callable[[], None]


@contextmanager
def ongoing(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Ongoing]:
    """The variant's fault, until the context ends."""
    with bench(parameters, folder, say) as made, loaded(made, Window.soon(_SECONDS, 0)) as (goes_on, keep):
        keys = (made.stage.cgroup.key,)
        running = _Running(made, keep)
        yield Ongoing(LAB, variant.value, expected_cause(variant), keys, goes_on, bound(FIXES, running))


def _backlog(now: _Running, fix: ProposedFix) -> None:
    """The number in the title: the product knows no setting of this service."""
    words = [word for word in str(fix["title"]).replace(",", "").split() if word.isdecimal()]
    if not words:
        raise LabError(f"The fix names no backlog: {fix['title']}")
    now.bench.listen_with(int(words[-1]))


def _keep(now: _Running, _fix: ProposedFix) -> None:
    now.keep()


FIXES: Mapping[str, Callable[[_Running, ProposedFix], None]] = {"raise_backlog": _backlog, "reuse_connections": _keep}
