"""`jitterscope lab dns-forward`: a CoreDNS whose upstream rate-limits it, loses its queries, or gets wasted queries."""

from __future__ import annotations

from typing import Annotated

import typer

from labs.applying.forwarding import ongoing
from labs.commanding import ApplyFix, Json, RecordTo, Token, Url, complaints, given_of, host, show, try_fix
from labs.console import progress
from labs.forwarding.variants import Variant, parameters_of
from labs.forwarding.watched import watch

NAME = "dns-forward"


def command(
    variant: Annotated[Variant, typer.Option(help="The fault, or a look-alike")] = Variant.RATE_LIMITED,
    seconds: Annotated[float | None, typer.Option(help="Length of the measured window [30]")] = None,
    qps: Annotated[float | None, typer.Option(help="Queries per second [300; rate-limited 600]")] = None,
    calm_qps: Annotated[float | None, typer.Option(help="Queries per second before the window [100]")] = None,
    calm_seconds: Annotated[float | None, typer.Option(help="Length of that time in seconds [8; one-socket 4]")] = None,
    delay_ms: Annotated[float | None, typer.Option(help="Answer time of the upstream in ms [5; 30]")] = None,
    limit_qps: Annotated[
        int | None, typer.Option(help="rate-limited: answered queries per second [half of --qps]")
    ] = None,
    loss_percent: Annotated[float | None, typer.Option(help="udp-loss: dropped packets in percent [1.5]")] = None,
    missing: Annotated[
        int | None, typer.Option(help="Number of names that do not exist [20 in the variants that look them up]")
    ] = None,
    volley: Annotated[
        int | None, typer.Option(help="Queries sent at once after each --calm-seconds [none; one-socket 250]")
    ] = None,
    logged: Annotated[
        int | None, typer.Option(help="one-socket: addresses of each name, which dnsmasq logs [120]")
    ] = None,
    clients: Annotated[int | None, typer.Option(help="Client addresses [4]")] = None,
    url: Url = None,
    token: Token = None,
    record_to: RecordTo = None,
    apply: ApplyFix = None,
    json_: Json = False,
) -> None:
    """A CoreDNS that forwards, and what goes wrong between it and its upstream (docs/labs.md)"""
    given = given_of(locals(), {"apply", "variant", "url", "token", "record_to", "json_"})
    say = progress()
    with complaints(url, token):
        parameters = parameters_of(variant, given)
        if apply is not None:
            try_fix(lambda folder: ongoing(variant, parameters, folder, say), apply, url, token, say, json_)
            return
        with host(url, token, say) as product:
            report = watch(product, variant, parameters, record_to, say)
        show(report, "the beginning of the load", json_)
