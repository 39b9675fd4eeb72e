"""The sustained storms of the negative-dentries lab, and the fixes that can be tried on them."""

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
# These apply to one of several storms, and to what a fixed program looks up.
_STORM_S, _FEW = 15.0, 10
_PRESSURE = Path("/proc/sys/vm/vfs_cache_pressure")


class Storm:
    """The program that starts again and again, and the freeing of the names if the variant does that."""

    def __init__(self, made: Bench, say: Say) -> None:
        self._made, self._say = made, say
        self._command, self._variables = made.command, dict(made.environment)
        self._program: subprocess.Popen[bytes] | None = None
        self._free_at_s: float | None = None
        self.begin()

    def begin(self) -> None:
        """Start with the current configuration."""
        made = self._made
        self._program = processes.spawn(
            made.place.inside(self._command), cgroup_procs=made.cgroup.procs_files(), environment=self._variables
        )

    def end(self) -> None:
        """Stop starting the program."""
        if self._program is not None:
            processes.stop(self._program)
            self._program = None

    def set_variable(self, name: str, value: str) -> None:
        """From now on, start with another environment."""
        self.end()
        self._variables[name] = value
        self.begin()

    def look_up_few(self) -> None:
        """From now on, start equally often but look up only a few names."""
        self.end()
        self._command = [f"--count={_FEW}" if one.startswith("--count=") else one for one in self._command]
        self.begin()

    def goes_on(self) -> bool:
        """Raises LabError if it failed; if it was ended on purpose, it counts as the calm after the fix."""
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
    """The variant's storm, until the context ends. If the variant frees the names, storms follow one another."""
    if variant is Variant.FILES:
        raise LabError("Variant files makes no fault to try a fix on.")
    frees = variant in FORGETTING
    lasting = {"seconds": _STORM_S} if frees else {"seconds": _SECONDS, "dentries": _DENTRIES}
    before = _PRESSURE.read_text()
    with bench(variant, parameters.model_copy(update=lasting), folder, say) as made:
        storm = Storm(made, say)
        say(f"{made.program} starts {parameters.starts_per_s:g}/s")
        try:
            cause = expected_cause(variant, parameters)
            # If storms follow one another, several are needed both before and after.
            before_s = 120.0 if frees else 70.0
            yield Ongoing(LAB, variant.value, cause, (), storm.goes_on, bound(FIXES, storm), before_s=before_s)
        finally:
            storm.end()
            if _PRESSURE.read_text() != before:
                _PRESSURE.write_text(before)


def _variable(storm: Storm, _fix: ProposedFix) -> None:
    storm.set_variable("NSS_SDB_USE_CACHE", "no")


def _change_program(storm: Storm, _fix: ProposedFix) -> None:
    storm.look_up_few()


def _cache_pressure(_storm: Storm, _fix: ProposedFix) -> None:
    _PRESSURE.write_text("200\n")


def _drop(_storm: Storm, _fix: ProposedFix) -> None:
    DROP.write_text(SLAB)


FIXES: Mapping[str, Callable[[Storm, ProposedFix], None]] = {
    "nss_variable": _variable,
    "stop_lookups": _change_program,
    "vfs_cache_pressure": _cache_pressure,
    "drop_caches": _drop,
    "find_maker": _change_program,
}
