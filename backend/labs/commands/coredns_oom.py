"""`jitterscope lab coredns-oom`: a burst of waiting queries that needs more memory than CoreDNS has."""

from __future__ import annotations

from typing import Annotated

import typer

from labs.applying.oom import ongoing
from labs.commanding import ApplyFix, Json, RecordTo, Token, Url, complaints, given_of, host, show, try_fix
from labs.console import progress
from labs.oom.variants import Variant, parameters_of
from labs.oom.watched import watch

NAME = "coredns-oom"


def command(
    variant: Annotated[Variant, typer.Option(help="The fault, a fix of it, or a look-alike")] = Variant.FAULT,
    seconds: Annotated[float | None, typer.Option(help="Length of the measured window [20; leak 90]")] = None,
    qps: Annotated[
        float | None, typer.Option(help="Queries per second [2000; leak 1250; healthy 1000; reclaim 500]")
    ] = None,
    delay_ms: Annotated[
        float | None, typer.Option(help="Answer time of the upstream in ms [4000; leak 0; healthy, reclaim 20]")
    ] = None,
    calm_qps: Annotated[
        float | None, typer.Option(help="Queries per second before the window [100; leak, reclaim as --qps]")
    ] = None,
    calm_seconds: Annotated[float | None, typer.Option(help="Length of that time in seconds [8]")] = None,
    memory_mib: Annotated[
        float | None,
        typer.Option(help="Memory limit of CoreDNS [170; leak, reclaim 96; more-memory: enough for the load]"),
    ] = None,
    max_concurrent: Annotated[
        int | None, typer.Option(help="max_concurrent of plugin forward [unset; max-concurrent: 1000, or what fits]")
    ] = None,
    cached_names: Annotated[int | None, typer.Option(help="Answers kept for an hour [0: none; leak: all]")] = None,
    addresses: Annotated[int | None, typer.Option(help="Addresses of each answer [1; leak 12]")] = None,
    file_mib: Annotated[
        float | None, typer.Option(help="File that cat reads beside CoreDNS [none; reclaim: three times the limit]")
    ] = None,
    readers: Annotated[int | None, typer.Option(help="Programs that read it at the same time [4]")] = None,
    clients: Annotated[int | None, typer.Option(help="Client addresses [4]")] = None,
    url: Url = None,
    token: Token = None,
    record_to: RecordTo = None,
    apply: ApplyFix = None,
    json_: Json = False,
) -> None:
    """A CoreDNS that runs out of memory through a burst of queries, or through what it keeps (docs/labs.md)"""
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
        if report.incident_before_kill_s is not None:
            typer.echo(f"from the incident to the OOM kill: {report.incident_before_kill_s:.1f} s", err=True)
        for one in report.predictions[:1]:
            off = "" if one.left_error_ratio is None else f", time left {one.left_error_ratio:+.0%} off"
            typer.echo(f"predicted at {one.made_s:.1f} s: a kill at {one.killed_s:.1f} s{off}", err=True)
