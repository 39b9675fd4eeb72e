"""`jitterscope setup` and `jitterscope new-secrets`."""

from __future__ import annotations

import secrets

import typer

from jitterscope.deployment import setup as preparing
from jitterscope.kit.secretbox import new_key
from jitterscope.settings import settings
from jitterscope.tenancy.secrets import new_secret
from jitterscope.tenancy.tokens import INGEST_PREFIX

app = typer.Typer()


@app.command()
def setup(
    superuser_url: str = typer.Option(
        "", envvar="JITTERSCOPE_SUPERUSER_DATABASE_URL", help="Create roles and database first; empty: they exist"
    ),
    organization: str = typer.Option("My organization", envvar="JITTERSCOPE_ORGANIZATION"),
    email: str = typer.Option("admin@localhost", envvar="JITTERSCOPE_ADMIN_EMAIL"),
    password: str = typer.Option(
        "", envvar="JITTERSCOPE_ADMIN_PASSWORD", help="Empty: a random one, printed once", show_default=False
    ),
    collector_token: str = typer.Option(
        "", envvar="JITTERSCOPE_COLLECTOR_TOKEN", help="Ingest token to accept (jsi_…)", show_default=False
    ),
    timeout_s: float = typer.Option(120.0, help="Time to wait for the database"),
) -> None:
    """Wait for the database, migrate it to this version, create the first login. Run before each new version starts."""
    given = settings()
    owner_url = given.owner_database_url.get_secret_value()
    try:
        schema = preparing.prepare_database(owner_url, given.database_url.get_secret_value(), superuser_url, timeout_s)
        login = preparing.first_organization(owner_url, organization, email, password, collector_token)
    except preparing.SetupFailed as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    typer.echo(schema)
    if login.created:
        typer.echo(first_login(given.public_url, email, login.password or "(the password you chose)"))


def first_login(url: str, email: str, password: str) -> str:
    """The message for the installer: the URL and the first login."""
    return f"\n  {url}\n  {email}  {password}\n"


@app.command()
def new_secrets() -> None:
    """Print fresh secrets as lines of an environment file: `… new-secrets > .env`."""
    for name in ("POSTGRES_PASSWORD", "JITTERSCOPE_OWNER_PASSWORD", "JITTERSCOPE_APP_PASSWORD", "VALKEY_PASSWORD"):
        typer.echo(f"{name}={secrets.token_urlsafe(24)}")
    typer.echo(f"JITTERSCOPE_SECRET_KEY={new_key()}")
    typer.echo(f"JITTERSCOPE_COLLECTOR_TOKEN={new_secret(INGEST_PREFIX)}")
