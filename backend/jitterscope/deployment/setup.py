"""Everything that must exist before API and workers can serve. Safe to repeat."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

import psycopg
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from jitterscope.schema import bootstrap, runner
from jitterscope.tenancy import founding
from jitterscope.tenancy.secrets import MIN_PASSWORD_LENGTH


class SetupFailed(RuntimeError):
    """The installation cannot be prepared; the message says what to do."""


@dataclass(frozen=True, slots=True)
class FirstLogin:
    """`password` is None if it was given, and so is known, or if the administrator already existed."""

    organization_id: int
    created: bool
    email: str
    password: str | None


def wait_for_database(url: str, timeout_s: float) -> None:
    """Return once the server accepts the connection. Raises SetupFailed with its last answer."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
            return
        except psycopg.OperationalError as error:
            if time.monotonic() >= deadline:
                raise SetupFailed(f"The database does not answer after {timeout_s:.0f} s: {error}") from error
        time.sleep(0.5)


def prepare_database(owner_url: str, app_url: str, superuser_url: str, timeout_s: float) -> str:
    """Wait for the server and bring the schema up to date; with a superuser's URL, create roles and database first.

    Returns the outcome for the schema: a rollback finds a newer one, which stays.

    Names and passwords are those of the two URLs, which therefore must be of the two roles that migrations know.
    """
    owner = _of_role("JITTERSCOPE_OWNER_DATABASE_URL", owner_url, bootstrap.OWNER)
    if superuser_url:
        app = _of_role("JITTERSCOPE_DATABASE_URL", app_url, bootstrap.APP)
        if not owner.database or owner.database != app.database:
            raise SetupFailed("JITTERSCOPE_OWNER_DATABASE_URL and JITTERSCOPE_DATABASE_URL name different databases.")
        wait_for_database(superuser_url, timeout_s)
        bootstrap.bootstrap(superuser_url, owner.database, str(owner.password), str(app.password))
    wait_for_database(owner_url, timeout_s)
    try:
        runner.migrate(owner_url)
    except runner.NewerSchema as newer:
        return str(newer)
    return "The schema is up to date."


def first_organization(owner_url: str, name: str, email: str, password: str, collector_token: str) -> FirstLogin:
    """Create the first organization, with a random password if none is given, and accept the collectors' token."""
    if password and len(password) < MIN_PASSWORD_LENGTH:
        raise SetupFailed(f"JITTERSCOPE_ADMIN_PASSWORD is too short: it needs {MIN_PASSWORD_LENGTH} characters.")
    chosen = password or secrets.token_urlsafe(12)
    founded = founding.found_organization(owner_url, name, email, chosen, operator=True)
    if collector_token:
        try:
            founding.accept_token(owner_url, founded.organization_id, collector_token, "collectors of the installation")
        except ValueError as error:
            raise SetupFailed(f"JITTERSCOPE_COLLECTOR_TOKEN {error}.") from error
    shown = None if password or not founded.created else chosen
    return FirstLogin(founded.organization_id, founded.created, email, shown)


def _of_role(variable: str, url: str, role: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise SetupFailed(f"{variable} is not set, or not a postgresql:// URL.") from error
    if parsed.username != role or not parsed.password:
        raise SetupFailed(f"{variable} must have the user {role} and a password.")
    return parsed
