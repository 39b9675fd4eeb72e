"""`jitterscope lab packet-loss`: a service whose packets to its clients are lost."""

from __future__ import annotations

from typing import Annotated

import typer

from labs.applying.loss import ongoing
from labs.commanding import ApplyFix, Json, RecordTo, Token, Url, complaints, given_of, host, show, try_fix
from labs.console import progress
from labs.loss.variants import Variant, parameters_of
from labs.loss.watched import watch

NAME = "packet-loss"


def command(
    variant: Annotated[Variant, typer.Option(help="The fault, or a look-alike")] = Variant.FAULT,
    seconds: Annotated[float | None, typer.Option(help="Length of the measured window [30]")] = None,
    calm_seconds: Annotated[float | None, typer.Option(help="Load before that window, in s [4]")] = None,
    loss_percent: Annotated[
        float | None, typer.Option(help="Packets lost on the way to clients, in percent [2; healthy 0]")
    ] = None,
    requests_too: Annotated[
        bool | None, typer.Option(help="Packets to the service are lost at the same rate [no]")
    ] = None,
    other: Annotated[
        bool | None, typer.Option(help="Only packets of another service are lost [set by the variant]")
    ] = None,
    keep: Annotated[bool | None, typer.Option(help="Clients keep their connections open [set by the variant]")] = None,
    answer_bytes: Annotated[int | None, typer.Option(help="Size of an answer [1000]")] = None,
    slow_every: Annotated[
        int | None,
        typer.Option(help="One in this many requests waits in its own code [0: none; own-code 50]"),
    ] = None,
    slow_ms: Annotated[int | None, typer.Option(help="How long it waits, in ms [200]")] = None,
    qps: Annotated[float | None, typer.Option(help="Requests per second [200]")] = None,
    url: Url = None,
    token: Token = None,
    record_to: RecordTo = None,
    apply: ApplyFix = None,
    json_: Json = False,
) -> None:
    """A service some of whose packets to its clients are dropped, by nftables (docs/labs.md)"""
    given = given_of(locals(), {"apply", "variant", "url", "token", "record_to", "json_"})
    say = progress()
    with complaints(url, token):
        parameters = parameters_of(variant, given)
        if apply is not None:
            try_fix(lambda folder: ongoing(variant, parameters, folder, say), apply, url, token, say, json_)
            return
        with host(url, token, say) as product:
            report = watch(product, variant, parameters, record_to, say)
        show(report, "the first request that waited for a segment", json_)
