"""`jitterscope lab slow-dependency`: an HTTP service that waits for a slow database or another slow service."""

from __future__ import annotations

from typing import Annotated

import typer

from labs.applying.dependency import ongoing
from labs.commanding import ApplyFix, Json, RecordTo, Token, Url, complaints, given_of, host, show, try_fix
from labs.console import progress
from labs.dependency.variants import Variant, parameters_of
from labs.dependency.watched import watch

NAME = "slow-dependency"


def command(
    variant: Annotated[Variant, typer.Option(help="What is slow, or a look-alike")] = Variant.FAULT,
    seconds: Annotated[float | None, typer.Option(help="Length of the measured window [40]")] = None,
    calm_seconds: Annotated[float | None, typer.Option(help="Load before it, without the lock, in s [8]")] = None,
    qps: Annotated[float | None, typer.Option(help="Requests per second [200; throttled 300]")] = None,
    connections: Annotated[int | None, typer.Option(help="Connections from the service to its dependency [32]")] = None,
    lock_ms: Annotated[int | None, typer.Option(help="How long the table is locked in ms [fault 400]")] = None,
    lock_every_ms: Annotated[int | None, typer.Option(help="Interval between locks in ms [4000]")] = None,
    heavy_every: Annotated[
        int | None, typer.Option(help="One in this many requests runs a heavy query [heavy-query 60]")
    ] = None,
    heavy_rows: Annotated[int | None, typer.Option(help="Rows the query counts [1500000]")] = None,
    slow_every: Annotated[
        int | None, typer.Option(help="One in this many requests waits in the other service [http 40]")
    ] = None,
    slow_ms: Annotated[int | None, typer.Option(help="How long it waits, in ms [http 150]")] = None,
    answer_bytes: Annotated[
        int | None, typer.Option(help="Size of the other service's answers [2000; throttled 100000]")
    ] = None,
    quota_us: Annotated[
        int | None, typer.Option(help="CPU limit of the dependency per 100 ms (µs) [-1: none; throttled 50000]")
    ] = None,
    own_slow_every: Annotated[
        int | None, typer.Option(help="One in this many requests waits in the service's own code [own-code 50]")
    ] = None,
    own_slow_ms: Annotated[int | None, typer.Option(help="How long it waits, in ms [own-code 60]")] = None,
    url: Url = None,
    token: Token = None,
    record_to: RecordTo = None,
    apply: ApplyFix = None,
    json_: Json = False,
) -> None:
    """A Go service that queries a PostgreSQL whose table is locked now and then, or another service (docs/labs.md)"""
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
