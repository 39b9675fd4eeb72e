"""`jitterscope admin …`: what only whoever runs the installation may do."""

from __future__ import annotations

import typer

from jitterscope.settings import settings
from jitterscope.tenancy import founding, secrets

app = typer.Typer(
    name="admin", help="Organizations and passwords, with JITTERSCOPE_OWNER_DATABASE_URL.", no_args_is_help=True
)


@app.command()
def create_organization(
    name: str,
    email: str,
    password: str = typer.Option(
        ..., prompt=True, hide_input=True, confirmation_prompt=True, envvar="JITTERSCOPE_ADMIN_PASSWORD"
    ),
    operator: bool = typer.Option(False, help="Let this administrator create further organizations"),
) -> None:
    """Create an organization and its first administrator."""
    _check(password)
    owner_url = settings().owner_database_url.get_secret_value()
    founded = founding.found_organization(owner_url, name, email, password, operator=operator)
    typer.echo(
        f"organization {founded.organization_id}" + ("" if founded.created else " already exists, nothing changed")
    )


@app.command()
def set_password(
    email: str,
    password: str = typer.Option(
        ..., prompt=True, hide_input=True, confirmation_prompt=True, envvar="JITTERSCOPE_ADMIN_PASSWORD"
    ),
    organization: int | None = typer.Option(None, help="Organization id, if several accounts have the address"),
) -> None:
    """Set a user's password and end its sessions."""
    _check(password)
    owner_url = settings().owner_database_url.get_secret_value()
    try:
        known = founding.set_password(owner_url, email, password, organization)
    except founding.SeveralAccounts as error:
        typer.echo(f"{error}: name the organization with --organization.", err=True)
        raise typer.Exit(1) from error
    if not known:
        typer.echo(f"There is no user {email}.", err=True)
        raise typer.Exit(1)


def _check(password: str) -> None:
    if len(password) < secrets.MIN_PASSWORD_LENGTH:
        raise typer.BadParameter(f"a password needs at least {secrets.MIN_PASSWORD_LENGTH} characters")
