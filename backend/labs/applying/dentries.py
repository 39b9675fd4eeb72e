"""The storms of the negative-dentries lab, going on, and the fixes that can be tried on them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from labs import processes
from labs.applying.ongoing import Ongoing, ProposedFix, bound
from labs.console import Say
from labs.dentries.bench import BEFORE_DROP_S, DROP, FORGETTING, SLAB, Bench, bench, forget
from labs.dentries.variants import Parameters, Variant, expected_cause
from labs.dentries.watched import LAB
from labs.errors import LabError

_SECONDS, _DENTRIES = 1_500.0, 50_000_000
# Of one of several storms, and what a program looks for that was mended.
_STORM_S, _FEW = 15.0, 10
_PRESSURE = Path("/proc/sys/vm/vfs_cache_pressure")


class Storm:
    """The program that starts again and again; where the variant frees the names, that too."""

    def __init__(self, made: Bench, say: Say) -> None:
        self._made, self._say = made, say
        self._command, self._variables = made.command, dict(made.environment)
        self._program: subprocess.Popen[bytes] | None = None
        self._free_at_s: float | None = None
        self.begin()

    def begin(self) -> None:
        """Start, as it is set up now."""
        made = self._made
        self._program = processes.spawn(
            made.place.inside(self._command), cgroup_procs=made.cgroup.procs_files(), environment=self._variables
        )

    def end(self) -> None:
        """Start no more."""
        if self._program is not None:
            processes.stop(self._program)
            self._program = None

    def set_variable(self, name: str, value: str) -> None:
        """Start from now on with another environment."""
        self.end()
        self._variables[name] = value
        self.begin()

    def look_up_few(self) -> None:
        """Start from now on as often, and look for a few names."""
        self.end()
        self._command = [f"--count={_FEW}" if one.startswith("--count=") else one for one in self._command]
        self.begin()

    def goes_on(self) -> bool:
        """Raises LabError where it failed; ended on purpose it has become the calm after the fix."""
        if self._program is None or self._program.poll() is None:
            return True
        if self._program.returncode:
            raise LabError(f"{self._made.program} failed.")
        if self._made.variant not in FORGETTING:
            return False
        if self._free_at_s is None:
            self._free_at_s = time.monotonic() + BEFORE_DROP_S
        elif time.monotonic() >= self._free_at_s:
            forget(self._made, self._say)
            if self._made.variant is Variant.UNMOUNT:
                self._made.place.mount()
            self._free_at_s = None
            self.begin()
        return True


@contextmanager
def ongoing(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Ongoing]:
    """The variant's storm, until the context ends. Where the variant frees the names, one storm follows the other."""
    if variant is Variant.FILES:
        raise LabError("The variant files makes no fault that a fix could be tried on.")
    frees = variant in FORGETTING
    lasting = {"seconds": _STORM_S} if frees else {"seconds": _SECONDS, "dentries": _DENTRIES}
    before = _PRESSURE.read_text()
    with bench(variant, parameters.model_copy(update=lasting), folder, say) as made:
        storm = Storm(made, say)
        say(f"{made.program} starts {parameters.starts_per_s:g}/s")
        try:
            cause = expected_cause(variant, parameters)
            # Where one storm follows the other, several are needed on both sides.
            before_s = 120.0 if frees else 70.0
            yield Ongoing(LAB, variant.value, cause, (), storm.goes_on, bound(FIXES, storm), before_s=before_s)
        finally:
            storm.end()
            if _PRESSURE.read_text() != before:
                _PRESSURE.write_text(before)


def _variable(storm: Storm, _fix: ProposedFix) -> None:
    storm.set_variable("NSS_SDB_USE_CACHE", "no")


def _stop(storm: Storm, _fix: ProposedFix) -> None:
    storm.end()


def _change_program(storm: Storm, _fix: ProposedFix) -> None:
    storm.look_up_few()


def _cache_pressure(_storm: Storm, _fix: ProposedFix) -> None:
    _PRESSURE.write_text("200\n")


def _drop(_storm: Storm, _fix: ProposedFix) -> None:
    DROP.write_text(SLAB)


FIXES: Mapping[str, Callable[[Storm, ProposedFix], None]] = {
    "nss_variable": _variable,
    "stop_lookups": _stop,
    "vfs_cache_pressure": _cache_pressure,
    "drop_caches": _drop,
    "find_maker": _change_program,
}
