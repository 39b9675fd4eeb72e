"""`jitterscope lab coredns-gc`: a CoreDNS that runs out of CPU quota."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from jitterscope.labs.console import fail, progress
from jitterscope.labs.errors import LabError
from jitterscope.labs.hosting import own_product
from jitterscope.labs.product import Product
from jitterscope.labs.report import table
from jitterscope.labs.variants import Variant, parameters_of
from jitterscope.labs.watched import watch

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
    every_ms: Annotated[float | None, typer.Option(help="From one request burst to the next")] = None,
    burn_ms: Annotated[float | None, typer.Option(help="CPU time of the neighbour in the cgroup, each time")] = None,
    burn_every_ms: Annotated[float | None, typer.Option(help="From one turn of the neighbour to the next")] = None,
    url: Annotated[str | None, typer.Option(help="A running product; without it, one is started")] = None,
    token: Annotated[str | None, typer.Option(envvar="JITTERSCOPE_TOKEN", help="API token for --url")] = None,
    record_to: Annotated[Path | None, typer.Option(help="Keep the product's data of the run in this file")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Last line of stdout: one JSON object")] = False,
) -> None:
    """A CoreDNS that its garbage collector, or something else, runs out of CPU quota (docs/labs.md)."""
    given = {name: value for name, value in locals().items() if name not in _NOT_PARAMETERS and value is not None}
    if url is not None and token is None:
        fail("--url needs --token or JITTERSCOPE_TOKEN: an API token that may read.")
    say = progress()
    try:
        parameters = parameters_of(variant, given)
        host = own_product(say) if url is None else nullcontext(Product(url, token or ""))
        with host as product:
            report = watch(product, variant, parameters, record_to, say)
    except ValidationError as error:
        fail("; ".join(f"{_option(one['loc'])}: {one['msg']}" for one in error.errors()))
    except LabError as error:
        fail(str(error))
    typer.echo(table(report), err=json_)
    if json_:
        print(report.model_dump_json(exclude={"incident_urls"}))


_NOT_PARAMETERS = {"variant", "url", "token", "record_to", "json_"}


def _option(place: tuple[Any, ...]) -> str:
    return "--" + "-".join(str(part) for part in place).replace("_", "-")
