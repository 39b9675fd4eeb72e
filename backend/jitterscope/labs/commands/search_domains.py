"""`jitterscope lab search-domains`: pods that ask for every name several times over."""

from __future__ import annotations

from typing import Annotated

import typer

from jitterscope.labs.commanding import Json, RecordTo, Token, Url, complaints, given_of, host, show
from jitterscope.labs.console import progress
from jitterscope.labs.search.variants import Variant, parameters_of
from jitterscope.labs.search.watched import watch

NAME = "search-domains"


def command(
    variant: Annotated[Variant, typer.Option(help="The fault, a fix of it, or a look-alike")] = Variant.FAULT,
    seconds: Annotated[float | None, typer.Option(help="Length of the measured window [60]")] = None,
    qps: Annotated[float | None, typer.Option(help="Names looked up per second, by all pods together [60]")] = None,
    delay_ms: Annotated[float | None, typer.Option(help="What the resolver of outside names takes [5]")] = None,
    pods: Annotated[int | None, typer.Option(help="Pods, each with a namespace of its own [3]")] = None,
    names: Annotated[int | None, typer.Option(help="Outside names that each pod looks up [12]")] = None,
    services: Annotated[int | None, typer.Option(help="Services of the cluster that it looks up too [2]")] = None,
    ndots: Annotated[int | None, typer.Option(help="options ndots of the pods' resolv.conf [5]")] = None,
    url: Url = None,
    token: Token = None,
    record_to: RecordTo = None,
    json_: Json = False,
) -> None:
    """Pods with six search domains and ndots:5, whose resolver asks for every name seven times (docs/labs.md)."""
    given = given_of(locals(), {"variant", "url", "token", "record_to", "json_"})
    say = progress()
    with complaints(url, token):
        parameters = parameters_of(variant, given)
        with host(url, token, say) as product:
            report = watch(product, variant, parameters, record_to, say)
        show(report, "the first look-up", json_)
