"""`jitterscope lab chart`: the chart on a real cluster, from installation to removal."""

from __future__ import annotations

import typer

from labs.commanding import Json, complaints
from labs.console import progress
from labs.kubernetes import lifecycle, lifecycle_report

NAME = "chart"


def command(json_: Json = False) -> None:
    """The Helm chart on a real Kubernetes: installed, upgraded under load, rolled back, removed (docs/labs.md)."""
    say = progress()
    with complaints(None, None):
        report = lifecycle.run(say)
    typer.echo(lifecycle_report.table(report), err=json_)
    if json_:
        typer.echo(report.model_dump_json())
