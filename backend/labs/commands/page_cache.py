"""`jitterscope lab page-cache`: a service whose files do not fit into its memory limit."""

from __future__ import annotations

from typing import Annotated

import typer

from labs.applying.pagecache import ongoing
from labs.commanding import ApplyFix, Json, RecordTo, Token, Url, complaints, given_of, host, show, try_fix
from labs.console import progress
from labs.pagecache.variants import Variant, parameters_of
from labs.pagecache.watched import watch

NAME = "page-cache"


def command(
    variant: Annotated[Variant, typer.Option(help="The fault, a fix of it, or a look-alike")] = Variant.FAULT,
    seconds: Annotated[float | None, typer.Option(help="Length of the measured window [30]")] = None,
    settle_s: Annotated[float | None, typer.Option(help="Load before that window, in s [10]")] = None,
    qps: Annotated[float | None, typer.Option(help="Requests per second [16; cpu-limit 50]")] = None,
    memory_mib: Annotated[int | None, typer.Option(help="Memory limit in MiB [96; more-memory 256]")] = None,
    files: Annotated[int | None, typer.Option(help="Files the service serves [160; healthy 40]")] = None,
    file_kib: Annotated[int | None, typer.Option(help="Size of each file in KiB [1024]")] = None,
    read_mib_s: Annotated[int | None, typer.Option(help="Read limit of its disk in MiB/s; -1: none [12]")] = None,
    hashed_kib: Annotated[int | None, typer.Option(help="KiB each request hashes [0; cpu-limit 4000]")] = None,
    quota_us: Annotated[int | None, typer.Option(help="CPU limit per 100 ms (µs) [-1: none]")] = None,
    url: Url = None,
    token: Token = None,
    record_to: RecordTo = None,
    apply: ApplyFix = None,
    json_: Json = False,
) -> None:
    """A service whose files together are larger than its memory limit (docs/labs.md)"""
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
