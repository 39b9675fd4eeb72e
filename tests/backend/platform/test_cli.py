from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Callable

import psycopg
import pytest
from fastapi.testclient import TestClient
from psycopg import sql
from pydantic import SecretStr
from typer.testing import CliRunner

from jitterscope.cli import build
from jitterscope.settings import Settings
from tests.backend.conftest import Database, Organization

pytestmark = pytest.mark.slow

PASSWORD = "a long enough password"


def run(*arguments: str, **environment: str) -> tuple[int, str]:
    result = CliRunner().invoke(build(), list(arguments), env=environment)
    return result.exit_code, result.output


def test_every_domain_brings_its_commands() -> None:
    code, text = run("--help")
    assert code == 0
    for command in ("up", "down", "status", "migrate", "bootstrap", "admin", "lab", "record", "replay"):
        assert f" {command} " in text


def test_a_command_needs_none_of_the_others() -> None:
    """The libraries of other commands take seconds to import."""
    asks = "app(['analyze', '--help'], standalone_mode=False)"
    program = f"import sys; from jitterscope.cli import app; {asks}; print('LOADED', *sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = done.stdout.rpartition("LOADED")[2].split()
    assert "jitterscope.analyses.cli" in loaded
    assert not {"fastapi", "sqlalchemy", "celery", "alembic", "labs.cli_lab"}.intersection(loaded)


def test_bootstrap_and_migrate_make_a_usable_database(
    database: Database, settings_override: Callable[..., Settings]
) -> None:
    name = f"by_hand_{secrets.token_hex(4)}"
    # The roles belong to the server, which the other tests also use: keep their passwords.
    owner = str(psycopg.conninfo.conninfo_to_dict(database.owner_url)["password"])
    application = str(psycopg.conninfo.conninfo_to_dict(database.url)["password"])
    try:
        code, text = run(
            "bootstrap", "--database", name,
            JITTERSCOPE_SUPERUSER_DATABASE_URL=database.superuser_url, JITTERSCOPE_OWNER_PASSWORD=owner,
            JITTERSCOPE_APP_PASSWORD=application,
        )  # fmt: skip
        assert code == 0, text
        urls = dict(line.split("=", 1) for line in text.strip().splitlines())
        settings_override(owner_database_url=SecretStr(urls["JITTERSCOPE_OWNER_DATABASE_URL"]))
        assert run("migrate") == (0, "The schema is up to date.\n")
        made = run("admin", "create-organization", "Acme", "Boss@acme.example", JITTERSCOPE_ADMIN_PASSWORD=PASSWORD)
        assert made == (0, "organization 1\n")
        again = run("admin", "create-organization", "Acme", "boss@acme.example", JITTERSCOPE_ADMIN_PASSWORD=PASSWORD)
        assert "already exists" in again[1]
        with psycopg.connect(urls["JITTERSCOPE_DATABASE_URL"]) as connection:
            assert connection.execute("SELECT system_organization_ids()").fetchall() == [(1,)]
    finally:
        with psycopg.connect(database.superuser_url, autocommit=True) as superuser:
            superuser.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def test_a_forgotten_password_is_reset(client: TestClient, organization: Organization) -> None:
    assert run("admin", "set-password", organization.email, JITTERSCOPE_ADMIN_PASSWORD="short")[0] == 2
    assert run("admin", "set-password", "nobody@example.org", JITTERSCOPE_ADMIN_PASSWORD=PASSWORD)[0] == 1
    assert run("admin", "set-password", organization.email, JITTERSCOPE_ADMIN_PASSWORD=PASSWORD) == (0, "")
    for password, status in ((organization.password, 401), (PASSWORD, 200)):
        response = client.post("/api/v1/auth/login", json={"email": organization.email, "password": password})
        assert response.status_code == status
    entry = client.get("/api/v1/audit").json()["items"][0]
    assert (entry["action"], entry["actor_kind"]) == ("session.start", "session")
