"""`jitterscope lab kubernetes-v2`: static pods on a real node with cgroup v2, in qemu."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from labs.commanding import Json, RecordTo, complaints, given_of
from labs.console import fail, progress
from labs.vm import node, node_report
from labs.vm.node_files import Parameters

NAME = node_report.LAB


def command(
    cpu_limit_m: Annotated[int | None, typer.Option(help="CPU limit of CoreDNS, in thousandths of a CPU [500]")] = None,
    burst_us: Annotated[int | None, typer.Option(help="cpu.max.burst of CoreDNS, in µs [25000]")] = None,
    memory_limit_mib: Annotated[int | None, typer.Option(help="Memory limit that a pod exceeds, in MiB [48]")] = None,
    excess: Annotated[float | None, typer.Option(help="CPU that the queries need, relative to the limit [2]")] = None,
    seconds: Annotated[int | None, typer.Option(help="How long the queries are sent, in seconds [25]")] = None,
    store: Annotated[bool, typer.Option("--store", help="Store what was found, for docs/sources.md")] = False,
    record_to: RecordTo = None,
    json_: Json = False,
) -> None:
    """Static pods on a real node with systemd and cgroup v2, in qemu: counters as the kernel's own (docs/labs.md)"""
    given = given_of(locals(), {"store", "record_to", "json_"})
    say = progress()
    with complaints(None, None), tempfile.TemporaryDirectory(prefix="jitterscope-lab-vm-") as folder:
        parameters = Parameters(**given)
        with node.watched(Path(folder), parameters, say) as seen:
            found = node_report.report(seen, parameters, record_to, say)
    if store:
        node_report.store(found)
    typer.echo(node_report.table(found), err=json_)
    if json_:
        typer.echo(found.model_dump_json())
    if found.unequal:
        fail("The product's figures do not add up to the kernel's counters.")
