"""The sustained faults of the slow-dependency lab, and the fixes that can be tried on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from labs.applying.ongoing import Ongoing, ProposedFix, bound
from labs.console import Say
from labs.dependency.bench import Bench, bench, locked
from labs.dependency.variants import Parameters, Variant, expected_cause
from labs.dependency.watched import LAB
from labs.errors import LabError
from labs.limited import Window

_SECONDS = 1_500.0
# Longer than the locking session ever idles between two statements by itself.
_TIMEOUT = "10ms"


@contextmanager
def ongoing(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Ongoing]:
    """The variant's fault, until the context ends."""
    with bench(parameters, folder, say) as made:
        window = Window.soon(_SECONDS, parameters.calm_seconds)
        with locked(made, window.from_us), made.stage.loaded(made.load, window) as goes_on:
            keys = (made.stage.cgroup.key,)
            yield Ongoing(LAB, variant.value, expected_cause(variant), keys, goes_on, bound(FIXES, made))


def _end_idle_transactions(now: Bench, _fix: ProposedFix) -> None:
    if now.database is None:
        raise LabError("This variant has no PostgreSQL.")
    now.database.set("idle_in_transaction_session_timeout", _TIMEOUT)


FIXES: Mapping[str, Callable[[Bench, ProposedFix], None]] = {"end_idle_transactions": _end_idle_transactions}
