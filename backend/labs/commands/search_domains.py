"""`jitterscope lab search-domains`: pods that send several queries for every name."""

from __future__ import annotations

from typing import Annotated

import typer

from labs.applying.search import ongoing
from labs.commanding import ApplyFix, Json, RecordTo, Token, Url, complaints, given_of, host, show, try_fix
from labs.console import progress
from labs.search.variants import Variant, parameters_of
from labs.search.watched import watch

NAME = "search-domains"


def command(
    variant: Annotated[Variant, typer.Option(help="The fault, a fix of it, or a look-alike")] = Variant.FAULT,
    seconds: Annotated[float | None, typer.Option(help="Length of the measured window [60]")] = None,
    qps: Annotated[float | None, typer.Option(help="Names looked up per second, by all pods together [20]")] = None,
    delay_ms: Annotated[
        float | None, typer.Option(help="Answer time of the resolver of outside names in ms [14]")
    ] = None,
    cache_s: Annotated[int | None, typer.Option(help="How long the cluster's DNS caches answers [1]")] = None,
    pods: Annotated[int | None, typer.Option(help="Pods, each with a namespace of its own [3]")] = None,
    names: Annotated[int | None, typer.Option(help="Outside names each pod looks up [12]")] = None,
    services: Annotated[int | None, typer.Option(help="Services of the cluster each pod also looks up [2]")] = None,
    ndots: Annotated[int | None, typer.Option(help="options ndots of the pods' resolv.conf [5]")] = None,
    url: Url = None,
    token: Token = None,
    record_to: RecordTo = None,
    apply: ApplyFix = None,
    json_: Json = False,
) -> None:
    """Pods with six search domains and ndots:5, whose resolver sends seven queries for every name (docs/labs.md)"""
    given = given_of(locals(), {"apply", "variant", "url", "token", "record_to", "json_"})
    say = progress()
    with complaints(url, token):
        parameters = parameters_of(variant, given)
        if apply is not None:
            try_fix(lambda folder: ongoing(variant, parameters, folder, say), apply, url, token, say, json_)
            return
        with host(url, token, say) as product:
            report = watch(product, variant, parameters, record_to, say)
        show(report, "the first lookup", json_)
