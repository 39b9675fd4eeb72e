"""`jitterscope lab coredns-gc`: a CoreDNS that uses up its CPU quota."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from labs.applying.coredns_gc import ongoing
from labs.commanding import ApplyFix, Json, Token, Url, complaints, given_of, host, show, try_fix
from labs.console import Say, fail, progress
from labs.product import Product
from labs.variants import Variant, parameters_of
from labs.watched import watch
from labs.whatif import report as whatif_report
from labs.whatif.sets import ParameterSet, chosen

NAME = "coredns-gc"


def command(
    variant: Annotated[Variant, typer.Option(help="The fault, a fix of it, or a look-alike")] = Variant.FAULT,
    seconds: Annotated[float | None, typer.Option(help="Length of the measured window [60]")] = None,
    quota_us: Annotated[int | None, typer.Option(help="CPU time per period (µs) [50000]; -1: no limit")] = None,
    period_us: Annotated[int | None, typer.Option(help="Length of a CFS period (µs) [100000]")] = None,
    burst_us: Annotated[int | None, typer.Option(help="CFS burst (µs) [0], at most the quota")] = None,
    gomaxprocs: Annotated[int | None, typer.Option(help="GOMAXPROCS of CoreDNS [2]")] = None,
    gogc: Annotated[str | None, typer.Option(help="GOGC of CoreDNS: a percentage [100] or off")] = None,
    gomemlimit: Annotated[str | None, typer.Option(help="GOMEMLIMIT of CoreDNS, such as 3GiB [unset]")] = None,
    records: Annotated[int | None, typer.Option(help="Names in the hosts file [500000]: the live heap")] = None,
    rewrites: Annotated[int | None, typer.Option(help="Rewrite rules [0]: CPU time per query")] = None,
    qps: Annotated[float | None, typer.Option(help="Queries per second [1000]")] = None,
    burst_qps: Annotated[float | None, typer.Option(help="Queries per second within request bursts")] = None,
    burst_ms: Annotated[float | None, typer.Option(help="Length of a request burst")] = None,
    every_ms: Annotated[float | None, typer.Option(help="Interval between request bursts")] = None,
    burn_ms: Annotated[float | None, typer.Option(help="CPU time per burst of the other process in the cgroup")] = None,
    burn_every_ms: Annotated[float | None, typer.Option(help="Interval between these bursts")] = None,
    url: Url = None,
    token: Token = None,
    record_to: Annotated[
        Path | None, typer.Option(help="Keep the run's product data in this file (--whatif: folder)")
    ] = None,
    whatif: Annotated[bool, typer.Option("--whatif", help="Predict every fix from the fault, then apply each")] = False,
    sets: Annotated[
        str | None, typer.Option(help="--whatif: a JSON file of parameter sets, or `default`, as without parameters")
    ] = None,
    kept: Annotated[
        Path | None, typer.Option(help="--whatif: judge the runs in this --record-to folder again, without new runs")
    ] = None,
    apply: ApplyFix = None,
    json_: Json = False,
) -> None:
    """A CoreDNS whose CPU quota is used up by garbage collection, or by something else (docs/labs.md)"""
    given = given_of(locals(), _NOT_PARAMETERS)
    if whatif and variant is not Variant.FAULT:
        fail("--whatif starts from the fault and applies every fix: omit --variant.")
    if not whatif and (sets is not None or kept is not None):
        fail("--sets and --kept are for --whatif.")
    say = progress()
    with complaints(url, token):
        if whatif:
            _whatif(lambda: host(url, token, say), kept or chosen(sets, given), record_to, say, json_)
            return
        parameters = parameters_of(variant, given)
        if apply is not None:
            try_fix(lambda folder: ongoing(variant, parameters, folder, say), apply, url, token, say, json_)
            return
        with host(url, token, say) as product:
            report = watch(product, variant, parameters, record_to, say)
        show(report, "the first throttled query", json_)


_NOT_PARAMETERS = {"apply", "variant", "url", "token", "record_to", "json_", "whatif", "sets", "kept"}


def _whatif(
    host: Callable[[], AbstractContextManager[Product]],
    source: Path | list[ParameterSet],
    record_to: Path | None,
    say: Say,
    json_: bool,
) -> None:
    # Imported only here: the models take longer to import than other labs take to start.
    from labs.whatif.kept import judge_again
    from labs.whatif.run import run

    def show(one: whatif_report.SetReport) -> None:
        typer.echo(whatif_report.table(one), err=json_)

    if isinstance(source, Path):
        report = judge_again(source)
        for one in report.sets:
            show(one)
    else:
        with host() as product:
            report = run(product, source, record_to, say, show)
    typer.echo(whatif_report.summary(report), err=json_)
    if json_:
        print(report.model_dump_json())
