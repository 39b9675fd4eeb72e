"""`jitterscope lab disk-stall`: a service whose requests wait for a disk."""

from __future__ import annotations

from typing import Annotated

import typer

from labs.applying.disk import ongoing
from labs.commanding import ApplyFix, Json, RecordTo, Token, Url, complaints, given_of, host, show, try_fix
from labs.console import progress
from labs.disk.variants import Variant, parameters_of
from labs.disk.watched import watch

NAME = "disk-stall"


def command(
    variant: Annotated[Variant, typer.Option(help="The fault, a fix of it, or a look-alike")] = Variant.FAULT,
    seconds: Annotated[float | None, typer.Option(help="Length of the measured window [30]")] = None,
    settle_s: Annotated[float | None, typer.Option(help="Load before that window, in s [6]")] = None,
    qps: Annotated[float | None, typer.Option(help="Requests per second [50; steady 30]")] = None,
    write_kib_s: Annotated[int | None, typer.Option(help="Write limit in KiB/s; -1: none [1536]")] = None,
    record_kib: Annotated[int | None, typer.Option(help="KiB each request writes [8]")] = None,
    sync: Annotated[bool | None, typer.Option(help="Requests wait for fsync [yes]")] = None,
    checkpoint_kib: Annotated[int | None, typer.Option(help="KiB each checkpoint writes; 0: none [1536]")] = None,
    checkpoint_every_ms: Annotated[int | None, typer.Option(help="Interval between checkpoints in ms [3000]")] = None,
    hashed_kib: Annotated[int | None, typer.Option(help="KiB each request hashes [0; cpu-limit 4000]")] = None,
    slow_every: Annotated[int | None, typer.Option(help="One in this many requests waits in its own code [0]")] = None,
    slow_ms: Annotated[int | None, typer.Option(help="How long it waits, in ms [0]")] = None,
    quota_us: Annotated[int | None, typer.Option(help="CPU limit per 100 ms (µs) [-1: none]")] = None,
    volume_mib: Annotated[int | None, typer.Option(help="Size of the file system in MiB [512]")] = None,
    url: Url = None,
    token: Token = None,
    record_to: RecordTo = None,
    apply: ApplyFix = None,
    json_: Json = False,
) -> None:
    """A service that syncs each request to a disk on which its cgroup has a write limit (docs/labs.md)"""
    given = given_of(locals(), {"apply", "variant", "url", "token", "record_to", "json_"})
    say = progress()
    with complaints(url, token):
        parameters = parameters_of(variant, given)
        if apply is not None:
            try_fix(lambda folder: ongoing(variant, parameters, folder, say), apply, url, token, say, json_)
            return
        with host(url, token, say) as product:
            report = watch(product, variant, parameters, record_to, say)
        show(report, "the first slow request", json_)
