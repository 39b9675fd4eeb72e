"""`jitterscope lab kubernetes`: a case on a real cluster, from the fault to the verdict on its fix."""

from __future__ import annotations

from typing import Annotated

import typer

from labs.applying import attempt
from labs.commanding import Json, complaints
from labs.console import progress
from labs.kubernetes import case as cases

NAME = "kubernetes"


def command(
    case: Annotated[
        int, typer.Option(help="; ".join(f"{one.number}: {one.title}" for one in cases.CASES.values()))
    ] = 1,
    json_: Json = False,
) -> None:
    """A case on a real Kubernetes, with the chart's collector; its fix is applied with kubectl (docs/labs.md)."""
    if case not in cases.CASES:
        raise typer.BadParameter(f"{case} is none of {', '.join(map(str, cases.CASES))}.", param_hint="--case")
    say = progress()
    with complaints(None, None):
        report = cases.run(cases.CASES[case], say)
    typer.echo(f"{report.subject} on {report.node}\n{attempt.table(report.attempt)}", err=json_)
    if json_:
        typer.echo(report.model_dump_json())
