"""`jitterscope reseal-secrets`."""

from __future__ import annotations

import typer

from jitterscope.db import organization_ids
from jitterscope.notify.tasks import reseal_organization

app = typer.Typer()


@app.command()
def reseal_secrets() -> None:
    """Re-encrypt stored secrets with the first key of JITTERSCOPE_SECRET_KEY, so that the other keys can be removed."""
    done = [reseal_organization(organization_id) for organization_id in organization_ids()]
    typer.echo(f"{sum(one.done for one in done)} secrets encrypted with the first key")
    unreadable = sum(one.unreadable for one in done)
    if unreadable:
        typer.echo(
            f"jitterscope: none of the keys decrypts {unreadable} secrets: add the key that encrypted them", err=True
        )
        raise typer.Exit(1)
    typer.echo("every secret needs only the first key")
