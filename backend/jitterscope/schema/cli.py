"""`jitterscope migrate` and `jitterscope bootstrap`."""

from __future__ import annotations

import secrets

import typer

from jitterscope.schema import bootstrap as bootstrapping
from jitterscope.schema import runner

app = typer.Typer()


@app.command()
def migrate() -> None:
    """Migrate the schema to the newest version (uses JITTERSCOPE_OWNER_DATABASE_URL)."""
    try:
        runner.migrate()
    except runner.NewerSchema as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    typer.echo("The schema is up to date.")


@app.command()
def bootstrap(
    superuser_url: str = typer.Option(..., envvar="JITTERSCOPE_SUPERUSER_DATABASE_URL", help="postgresql://postgres:…"),
    database: str = typer.Option("jitterscope"),
    owner_password: str = typer.Option("", envvar="JITTERSCOPE_OWNER_PASSWORD", help="Empty: a random one"),
    app_password: str = typer.Option("", envvar="JITTERSCOPE_APP_PASSWORD", help="Empty: a random one"),
) -> None:
    """Create roles, database and extension on a PostgreSQL or TimescaleDB server, and print the two URLs."""
    owner_url, app_url = bootstrapping.bootstrap(
        superuser_url, database, owner_password or secrets.token_urlsafe(24), app_password or secrets.token_urlsafe(24)
    )
    typer.echo(f"JITTERSCOPE_OWNER_DATABASE_URL={owner_url}\nJITTERSCOPE_DATABASE_URL={app_url}")
