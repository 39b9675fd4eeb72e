"""`jitterscope lab nodelocal-dnsmasq`: a node-local CoreDNS that needs more TCP connections than dnsmasq serves."""

from __future__ import annotations

from typing import Annotated

import typer

from labs.applying.nodelocal import ongoing
from labs.commanding import ApplyFix, Json, RecordTo, Token, Url, complaints, given_of, host, show, try_fix
from labs.console import progress
from labs.nodelocal.variants import Variant, parameters_of
from labs.nodelocal.watched import watch

NAME = "nodelocal-dnsmasq"


def command(
    variant: Annotated[Variant, typer.Option(help="The fault, a fix of it, or a look-alike")] = Variant.FAULT,
    seconds: Annotated[float | None, typer.Option(help="Length of the measured window [30]")] = None,
    qps: Annotated[float | None, typer.Option(help="Queries per second [follows from --delay-ms: 800]")] = None,
    delay_ms: Annotated[
        float | None, typer.Option(help="Answer time of the upstream in ms [follows from --qps: 50]")
    ] = None,
    calm_qps: Annotated[
        float | None, typer.Option(help="Queries per second before the window [an eighth of --qps]")
    ] = None,
    calm_seconds: Annotated[float | None, typer.Option(help="Length of that time in seconds [8]")] = None,
    volley: Annotated[
        int | None,
        typer.Option(help="Queries sent at once each --calm-seconds [none; pool-churn twice the limit]"),
    ] = None,
    children_limit: Annotated[int | None, typer.Option(help="--max-tcp-connections of dnsmasq [unset: 20]")] = None,
    replicas: Annotated[int | None, typer.Option(help="dnsmasq processes, queried at random [1]")] = None,
    clients: Annotated[int | None, typer.Option(help="Client addresses [4]")] = None,
    url: Url = None,
    token: Token = None,
    record_to: RecordTo = None,
    apply: ApplyFix = None,
    json_: Json = False,
) -> None:
    """NodeLocal DNSCache and kube-dns's dnsmasq, which serves 20 TCP connections at once (docs/labs.md)"""
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
        if report.incident_before_servfail_s is not None:
            typer.echo(f"from the incident to the first SERVFAIL: {report.incident_before_servfail_s:.1f} s", err=True)
