"""`jitterscope lab mixed-load`: twelve real servers under ordinary load, which must cause no incident."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labs.commanding import Json, Token, Url, complaints, given_of, host
from labs.console import progress
from labs.mixed.parameters import Parameters
from labs.mixed.watched import table, watch

NAME = "mixed-load"


def command(
    minutes: Annotated[float | None, typer.Option(help="Length of the load in min [5]")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of rates, their changes, and CPU limits [1]")] = None,
    rate: Annotated[float | None, typer.Option(help="Factor of all rates [1, or less on a slow machine]")] = None,
    url: Url = None,
    token: Token = None,
    keep: Annotated[Path | None, typer.Option(help="Folder for a recording of each incident and risk")] = None,
    json_: Json = False,
) -> None:
    """Twelve real servers under ordinary load, without a fault: correct is no incident and no risk (docs/labs.md)"""
    given = given_of(locals(), {"url", "token", "keep", "json_"})
    say = progress()
    with complaints(url, token):
        parameters = Parameters(**given)
        with host(url, token, say) as product:
            watched = watch(product, parameters, say)
            typer.echo(table(watched.report), err=json_)
            if json_:
                typer.echo(watched.report.model_dump_json())
            if keep is not None:
                watched.keep(product, keep, say)
