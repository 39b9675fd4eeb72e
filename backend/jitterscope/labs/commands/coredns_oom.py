"""`jitterscope lab coredns-oom`: a burst of queries that a CoreDNS has not the memory to wait for."""

from __future__ import annotations

from typing import Annotated

import typer

from jitterscope.labs.commanding import Json, RecordTo, Token, Url, complaints, given_of, host, show
from jitterscope.labs.console import progress
from jitterscope.labs.oom.variants import Variant, parameters_of
from jitterscope.labs.oom.watched import watch

NAME = "coredns-oom"


def command(
    variant: Annotated[Variant, typer.Option(help="The fault, a fix of it, or a look-alike")] = Variant.FAULT,
    seconds: Annotated[float | None, typer.Option(help="Length of the measured window [20; leak 90]")] = None,
    qps: Annotated[float | None, typer.Option(help="Queries per second [2000; leak 2500; healthy 1000]")] = None,
    delay_ms: Annotated[
        float | None, typer.Option(help="What the upstream takes for an answer [4000; leak, healthy 20]")
    ] = None,
    calm_qps: Annotated[float | None, typer.Option(help="Queries per second before that [100; leak as --qps]")] = None,
    calm_seconds: Annotated[float | None, typer.Option(help="How long [8]")] = None,
    memory_mib: Annotated[
        float | None, typer.Option(help="Memory limit of CoreDNS [170; leak 96; more-memory: enough for the load]")
    ] = None,
    max_concurrent: Annotated[
        int | None, typer.Option(help="max_concurrent of plugin forward [unset; max-concurrent: 1000, or what fits]")
    ] = None,
    cached_names: Annotated[int | None, typer.Option(help="Answers kept for an hour [0: none; leak: all]")] = None,
    clients: Annotated[int | None, typer.Option(help="Client addresses [4]")] = None,
    url: Url = None,
    token: Token = None,
    record_to: RecordTo = None,
    json_: Json = False,
) -> None:
    """A CoreDNS that a burst of queries, or something that it keeps, runs out of memory (docs/labs.md)."""
    given = given_of(locals(), {"variant", "url", "token", "record_to", "json_"})
    say = progress()
    with complaints(url, token):
        parameters = parameters_of(variant, given)
        with host(url, token, say) as product:
            report = watch(product, variant, parameters, record_to, say)
        show(report, "the beginning of the load", json_)
        if report.incident_before_kill_s is not None:
            typer.echo(f"from the incident to the OOM kill: {report.incident_before_kill_s:.1f} s", err=True)
        for one in report.predictions[:1]:
            off = "" if one.left_error_ratio is None else f", time left {one.left_error_ratio:+.0%} off"
            typer.echo(f"predicted at {one.made_s:.1f} s: a kill at {one.killed_s:.1f} s{off}", err=True)
