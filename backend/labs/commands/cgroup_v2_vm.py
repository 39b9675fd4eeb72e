"""`jitterscope lab cgroup-v2-vm`: the collector on another kernel with the unified cgroup hierarchy."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from labs.console import fail, progress
from labs.errors import LabError
from labs.vm import sources
from labs.vm.cgroup_v2 import COUNTERS, compare

NAME = "cgroup-v2-vm"


def command(
    quota_us: Annotated[int, typer.Option(help="CPU time per period (µs)")] = 20_000,
    period_us: Annotated[int, typer.Option(help="Length of a CFS period (µs)")] = 100_000,
    seconds: Annotated[int, typer.Option(help="How long the cgroup is busy, in seconds")] = 8,
    newest: Annotated[bool, typer.Option("--newest", help="Boot the newest kernel that Debian has, from sid")] = False,
    store: Annotated[bool, typer.Option("--store", help="Store what the sources said, for docs/sources.md")] = False,
) -> None:
    """Boot Debian's kernel with cgroup v2 in qemu and compare the collector's samples with its cpu.stat."""
    suite = sources.NEWEST if newest else ""
    try:
        with tempfile.TemporaryDirectory(prefix="jitterscope-lab-vm-") as folder:
            seen = compare(Path(folder), progress(), quota_us, period_us, seconds, suite=suite)
    except LabError as error:
        fail(str(error))
    if store:
        sources.store(seen.sources, suite)
    print(f"Linux {seen.sources.kernel}, cgroup v{seen.facts.get('node.cgroup_version')}, {seen.ticks} ticks")
    print(f"{'cpu.stat':16}{'kernel':>14}{'collector':>14}")
    for line in COUNTERS:
        print(f"{line:16}{seen.kernel[line]:>14}{seen.collector[line]:>14.0f}")
    if not seen.agrees:
        fail("The collector's samples do not add up to the kernel's counters.")
    print("Equal.")
