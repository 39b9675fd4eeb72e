"""Programs that look for names that do not exist, or that do; then, in some variants, the names are thrown away."""

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
SLAB = "2"  # dentries and inodes, as proc(5) has it; 3 would drop the page cache too
# Until the node is what it was without the storm, as far as the product looks back to tell how busy it is.
BEFORE_DROP_S = 12.0
FORGETTING = (Variant.DROP, Variant.UNMOUNT)


@dataclass(frozen=True, slots=True)
class Run:
    """What happened, by the lab's own account: the storm in [from_us, ended_us), all of it in [from_us, to_us).

    `pause`: when dropping or unmounting began and ended; `everything`: not only the lab's names were forgotten then.
    """

    from_us: int
    ended_us: int
    to_us: int
    pause: tuple[int, int] | None
    everything: bool
    figures: DentryFigures


@dataclass(frozen=True, slots=True)
class Bench:
    """What is ready to run. `program` is the short name of what will look for names, as the kernel has it (comm)."""

    cgroup: LabCgroup
    place: Place
    command: list[str]
    environment: dict[str, str]
    program: str
    variant: Variant
    parameters: Parameters


@contextmanager
def bench(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """A file system and a cgroup of the lab's own; both are gone afterwards, and with them every name."""
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
                # As many as it takes: the 33 ms of an old NSS would be fewer on a slow machine.
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
    """Make the names, then forget them where the variant says so. Raises LabError where a program fails."""
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
    """Have the kernel free what the variant frees; when that began and ended. None: this variant frees nothing."""
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
