"""`jitterscope lab compose`: docker-compose.yml on a real Docker."""

from __future__ import annotations

import typer

from labs.commanding import Json, complaints
from labs.compose import lifecycle, report
from labs.console import progress

NAME = "compose"


def command(json_: Json = False) -> None:
    """docker-compose.yml on a real Docker: restarted, backed up, restored, upgraded under load (docs/labs.md)."""
    say = progress()
    with complaints(None, None):
        found = lifecycle.run(say)
    typer.echo(report.table(found), err=json_)
    if json_:
        typer.echo(found.model_dump_json())
