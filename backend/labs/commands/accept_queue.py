"""`jitterscope lab accept-queue`: a service that gets more connections at once than its accept queue holds."""

from __future__ import annotations

from typing import Annotated

import typer

from labs.applying.crowd import ongoing
from labs.commanding import ApplyFix, Json, RecordTo, Token, Url, complaints, given_of, host, show, try_fix
from labs.console import progress
from labs.crowd.variants import Variant, parameters_of
from labs.crowd.watched import watch

NAME = "accept-queue"


def command(
    variant: Annotated[Variant, typer.Option(help="The fault, a fix of it, or a look-alike")] = Variant.FAULT,
    seconds: Annotated[float | None, typer.Option(help="Length of the measured window [30]")] = None,
    calm_seconds: Annotated[float | None, typer.Option(help="Load before that window, in s [4]")] = None,
    backlog: Annotated[
        int | None, typer.Option(help="Connections that may wait to be accepted [16; backlog 1024]")
    ] = None,
    accept_us: Annotated[
        int | None, typer.Option(help="Time to accept a connection (µs) [250; slow-accept 12000; backlog 50]")
    ] = None,
    qps: Annotated[float | None, typer.Option(help="Requests per second outside bursts [50]")] = None,
    burst: Annotated[int | None, typer.Option(help="Requests in a burst [80; connect-churn 0]")] = None,
    every_ms: Annotated[float | None, typer.Option(help="Interval between bursts in ms [2000]")] = None,
    keep: Annotated[bool | None, typer.Option(help="Clients keep their connections open [set by the variant]")] = None,
    delay_ms: Annotated[float | None, typer.Option(help="One-way packet delay in ms [0; connect-churn 15]")] = None,
    url: Url = None,
    token: Token = None,
    record_to: RecordTo = None,
    apply: ApplyFix = None,
    json_: Json = False,
) -> None:
    """A service with a short accept queue whose clients connect all at once, or anew each time (docs/labs.md)"""
    given = given_of(locals(), {"apply", "variant", "url", "token", "record_to", "json_"})
    say = progress()
    with complaints(url, token):
        parameters = parameters_of(variant, given)
        if apply is not None:
            try_fix(lambda folder: ongoing(variant, parameters, folder, say), apply, url, token, say, json_)
            return
        with host(url, token, say) as product:
            report = watch(product, variant, parameters, record_to, say)
        show(report, "the first client that waited", json_)
