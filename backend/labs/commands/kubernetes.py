"""`jitterscope lab kubernetes`: a case on a real cluster, from the fault to the verdict on its fix."""

from __future__ import annotations

from typing import Annotated

import typer

from labs.applying import attempt
from labs.commanding import Json, complaints
from labs.console import progress
from labs.kubernetes import case as cases
from labs.kubernetes import churn as churns
from labs.kubernetes import churn_report

NAME = "kubernetes"


def command(
    case: Annotated[
        int, typer.Option(help="; ".join(f"{one.number}: {one.title}" for one in cases.CASES.values()))
    ] = 1,
    churn: Annotated[
        bool, typer.Option("--churn", help="Instead of a case: pods come and go, a node is drained, a kubelet restarts")
    ] = False,
    pods: Annotated[int, typer.Option(min=20, max=2_000, help="How many pods --churn creates")] = 200,
    seconds: Annotated[int, typer.Option(min=60, max=900, help="Over how many seconds it creates them")] = 300,
    json_: Json = False,
) -> None:
    """A case on a real Kubernetes with the chart's collector; kubectl applies its fix (docs/labs.md)"""
    if case not in cases.CASES:
        raise typer.BadParameter(f"{case} is not one of {', '.join(map(str, cases.CASES))}.", param_hint="--case")
    say = progress()
    if churn:
        with complaints(None, None):
            found = churns.run(pods, seconds, say)
        typer.echo(churn_report.table(found), err=json_)
        if json_:
            typer.echo(found.model_dump_json())
        return
    with complaints(None, None):
        report = cases.run(cases.CASES[case], say)
    typer.echo(f"{report.subject} on {report.node}\n{attempt.table(report.attempt)}", err=json_)
    if json_:
        typer.echo(report.model_dump_json())
