"""`jitterscope lab event-loop`: a service whose only thread is busy with a report while requests wait."""

from __future__ import annotations

from typing import Annotated

import typer

from labs.applying.eventloop import ongoing
from labs.commanding import ApplyFix, Json, RecordTo, Token, Url, complaints, given_of, host, show, try_fix
from labs.console import progress
from labs.eventloop.variants import Runtime, Variant, parameters_of
from labs.eventloop.watched import watch

NAME = "event-loop"


def command(
    variant: Annotated[Variant, typer.Option(help="The runtime of the fault, or a look-alike")] = Variant.FAULT_NODE,
    seconds: Annotated[float | None, typer.Option(help="Length of the measured window [40]")] = None,
    calm_seconds: Annotated[float | None, typer.Option(help="Load before it in s [8]")] = None,
    runtime: Annotated[Runtime | None, typer.Option(help="Runtime of the service [set by the variant]")] = None,
    qps: Annotated[float | None, typer.Option(help="Requests per second [100]")] = None,
    report_every: Annotated[
        int | None, typer.Option(help="One in this many requests makes a report [faults 250; off-loop 1500]")
    ] = None,
    report_rows: Annotated[int | None, typer.Option(help="Rows of a report [70000; fault-python 28000]")] = None,
    shares: Annotated[int | None, typer.Option(help="CPU weight of the service, in v1 shares [crowded 2]")] = None,
    loops: Annotated[int | None, typer.Option(help="Busy loops of a neighbor [crowded 6]")] = None,
    url: Url = None,
    token: Token = None,
    record_to: RecordTo = None,
    apply: ApplyFix = None,
    json_: Json = False,
) -> None:
    """A Node.js or asyncio service that now and then makes a report in its event loop (docs/labs.md)"""
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
