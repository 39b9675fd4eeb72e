"""`jitterscope reseal-secrets`."""

from __future__ import annotations

import typer

from jitterscope.db import organization_ids
from jitterscope.notify.tasks import reseal_organization

app = typer.Typer()


@app.command()
def reseal_secrets() -> None:
    """Encrypt stored secrets with the first key of JITTERSCOPE_SECRET_KEY, after which the others can go."""
    done = [reseal_organization(organization_id) for organization_id in organization_ids()]
    typer.echo(f"{sum(one.done for one in done)} secrets encrypted with the first key")
    unreadable = sum(one.unreadable for one in done)
    if unreadable:
        typer.echo(f"jitterscope: {unreadable} secrets were sealed with none of the keys: add their key", err=True)
        raise typer.Exit(1)
    typer.echo("every secret needs the first key only")
