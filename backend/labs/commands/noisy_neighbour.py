"""`jitterscope lab noisy-neighbour`: a server that is runnable but does not run, as another workload has the CPUs."""

from __future__ import annotations

from typing import Annotated

import typer

from labs.applying.noisy import ongoing
from labs.commanding import ApplyFix, Json, RecordTo, Token, Url, complaints, given_of, host, show, try_fix
from labs.console import progress
from labs.noisy.variants import Variant, parameters_of
from labs.noisy.watched import watch

NAME = "noisy-neighbour"


def command(
    variant: Annotated[Variant, typer.Option(help="The fault, a fix of it, or a look-alike")] = Variant.FAULT,
    seconds: Annotated[float | None, typer.Option(help="Length of the measured window [30]")] = None,
    calm_seconds: Annotated[float | None, typer.Option(help="Load before it, without the loops, in s [6]")] = None,
    http: Annotated[bool | None, typer.Option(help="A Go HTTP service instead of unbound [set by the variant]")] = None,
    qps: Annotated[float | None, typer.Option(help="Queries or requests per second [3000; http 400]")] = None,
    hashed_kib: Annotated[int | None, typer.Option(help="KiB that each HTTP request hashes [0; http 200]")] = None,
    shares: Annotated[
        int | None,
        typer.Option(help="CPU weight of the server, in v1 shares [fault, http 2; limit-neighbour 8192; others 10240]"),
    ] = None,
    quota_us: Annotated[int | None, typer.Option(help="CPU limit of the server per 100 ms (µs) [-1: none]")] = None,
    loops: Annotated[int | None, typer.Option(help="Busy loops of the neighbor [6; healthy 0]")] = None,
    neighbour_shares: Annotated[
        int | None, typer.Option(help="CPU weight of the neighbor [1024; limit-neighbour 8192]")
    ] = None,
    neighbour_quota_us: Annotated[
        int | None, typer.Option(help="CPU limit of the neighbor per period (µs) [-1: none; limit-neighbour 2000]")
    ] = None,
    neighbour_period_us: Annotated[
        int | None, typer.Option(help="Length of the neighbor's CFS period (µs) [100000; limit-neighbour 10000]")
    ] = None,
    url: Url = None,
    token: Token = None,
    record_to: RecordTo = None,
    apply: ApplyFix = None,
    json_: Json = False,
) -> None:
    """An unbound or a Go service beside a workload that wants all CPUs and has the larger weight (docs/labs.md)"""
    given = given_of(locals(), {"apply", "variant", "url", "token", "record_to", "json_"})
    say = progress()
    with complaints(url, token):
        parameters = parameters_of(variant, given)
        if apply is not None:
            try_fix(lambda folder: ongoing(variant, parameters, folder, say), apply, url, token, say, json_)
            return
        with host(url, token, say) as product:
            report = watch(product, variant, parameters, record_to, say)
        show(report, "the first loop of the neighbor", json_)
