"""Programs that look up names that do not exist, or that do; then, in some variants, the dentries are freed."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labs import built, nss, processes
from labs.cgroups import LabCgroup, LabRun
from labs.console import Say
from labs.dentries.figures import DentryFigures, measured
from labs.dentries.place import Place, place
from labs.dentries.truth import Watcher
from labs.dentries.variants import Parameters, Variant
from labs.errors import LabError
from labs.figures import TICK_US
from labs.pace import tick_after

DROP = Path("/proc/sys/vm/drop_caches")
SLAB = "2"  # dentries and inodes, see proc(5); 3 would drop the page cache too
# Until the node looks as it did before the storm, given how far the product looks back to judge how busy it is.
BEFORE_DROP_S = 12.0
FORGETTING = (Variant.DROP, Variant.UNMOUNT)


@dataclass(frozen=True, slots=True)
class Run:
    """What happened, as measured by the lab: the storm is in [from_us, ended_us), the whole run in [from_us, to_us).

    `pause`: when dropping or unmounting began and ended. `everything`: not only the lab's dentries were freed.
    """

    from_us: int
    ended_us: int
    to_us: int
    pause: tuple[int, int] | None
    everything: bool
    figures: DentryFigures


@dataclass(frozen=True, slots=True)
class Bench:
    """A bench that is ready to run. `program`: the kernel's short name (comm) of what will look up names."""

    cgroup: LabCgroup
    place: Place
    command: list[str]
    environment: dict[str, str]
    program: str
    variant: Variant
    parameters: Parameters


@contextmanager
def bench(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """A file system and a cgroup of the lab's own; both are removed afterwards, and with them every name."""
    with ExitStack() as stack:
        cgroup = LabRun.begin(say).cgroup("tools")
        stack.callback(cgroup.remove)
        cgroup.create()
        files = parameters.dentries if variant is Variant.FILES else 0
        made = stack.enter_context(place(folder, files))
        environment: dict[str, str] = {}
        fault = str(built.fault())
        if variant is Variant.FILES:
            rate = parameters.starts_per_s * parameters.lookups
            command = [fault, "files", f"--dir={made.folder}", f"--count={parameters.dentries}", f"--rate={rate}"]
            program = fault
        else:
            if variant is Variant.NSS:
                real = nss.certutil(folder, parameters.use_cache)
                started, environment = real.command, real.environment
            else:
                # A fixed number of lookups: the 33 ms limit of an old NSS would allow fewer on a slow machine.
                started = [
                    fault, "lookups", f"--dir={made.folder}", f"--names={parameters.names}",
                    f"--count={parameters.lookups}", "--most=0s",
                ]  # fmt: skip
            program = started[0]
            command = [
                fault, "repeat", f"--per-second={parameters.starts_per_s}", f"--seconds={parameters.seconds}",
                f"--failures={parameters.dentries}", "--", *started,
            ]  # fmt: skip
        yield Bench(cgroup, made, command, environment, Path(program).name[:15], variant, parameters)


def run(made: Bench, say: Say) -> Run:
    """Make the names, then free them if the variant says so. Raises LabError if a program fails."""
    p = made.parameters
    with Watcher() as watcher:
        time.sleep(max(1.0, p.calm_seconds))
        from_us = tick_after(time.time())
        time.sleep(max(0.0, from_us / 1e6 - time.time()))
        say(f"{made.program} starts {p.starts_per_s:g} times per second for {p.seconds:g} s at most")
        printed = _work(made)
        ended_us = time.time_ns() // 1000
        repeated = None if made.variant is Variant.FILES else printed
        if made.variant in FORGETTING:
            time.sleep(BEFORE_DROP_S)
        pause = forget(made, say)
        time.sleep(max(1.0, p.settle_seconds))
        readings = watcher.readings()
    to_us = tick_after(time.time()) - TICK_US
    figures = measured(readings, repeated, from_us, ended_us, pause)
    return Run(from_us, ended_us, to_us, pause, made.variant is Variant.DROP, figures)


def _work(made: Bench) -> dict[str, Any]:
    program = processes.spawn(
        made.place.inside(made.command),
        cgroup_procs=made.cgroup.procs_files(),
        environment=made.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        printed, complaint = program.communicate()
    finally:
        processes.stop(program)
    if program.returncode:
        raise LabError(f"{made.program} failed: {complaint.decode(errors='replace').strip()}")
    return dict(json.loads(printed))


def forget(made: Bench, say: Say) -> tuple[int, int] | None:
    """Have the kernel free what the variant frees; returns when that began and ended, or None if it frees nothing."""
    if made.variant not in FORGETTING:
        return None
    begin_us = time.time_ns() // 1000
    if made.variant is Variant.DROP:
        say("Dropping every dentry and inode of this machine that is not in use")
        try:
            DROP.write_text(SLAB)
        except OSError as error:
            raise LabError(f"Cannot write to {DROP}: {error}") from error
    else:
        say("Unmounting the file system")
        made.place.unmount()
    ended_us = time.time_ns() // 1000
    say(f"That took {(ended_us - begin_us) / 1e6:.2f} s")
    return begin_us, ended_us
