"""The sustained faults of the service-gc lab, and the fixes that can be tried on them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from jitterscope.diagnosis.programs import jvm
from labs.applying.ongoing import Ongoing, ProposedFix, bound, setting
from labs.console import Say
from labs.errors import LabError
from labs.limited import Limit, Window
from labs.service.bench import Bench, bench
from labs.service.servers import PATH
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


def _option(now: Bench, fix: ProposedFix) -> None:
    now.server.restart(PATH, command=with_options(now.server.command, options_of(fix)))


def options_of(fix: ProposedFix) -> list[str]:
    """The JVM options in parentheses at the end of the title. Raises LabError if it names none."""
    found = re.search(r"\((-X[^()]+)\)$", str(fix["title"]))
    if found is None:
        raise LabError(f"The fix names no option of the JVM: {fix['title']}")
    return found[1].split()


def with_options(command: Sequence[str], chosen: Sequence[str]) -> list[str]:
    """The command of a JVM with these options, which replace those that set the same thing."""
    program, *words = command
    taken = {_name(option) for option in chosen}
    return [program, *chosen, *(word for word in words if _name(word) not in taken)]


def _name(option: str) -> str:
    """What an option sets; all garbage collectors count as the same setting."""
    if option.removeprefix("-XX:+") in jvm.FLAGS:
        return "collector"
    return "-Xmx" if option.startswith("-Xmx") else option.partition("=")[0]


FIXES: Mapping[str, Callable[[Bench, ProposedFix], None]] = {
    "raise_cpu_limit": _limit,
    "jvm_collector": _option,
    "jvm_pause_goal": _option,
    "jvm_larger_heap": _option,
}
