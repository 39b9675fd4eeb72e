"""`jitterscope setup`: what the setup job of docker-compose.yml and of the chart runs."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator

import psycopg
import pytest
from fastapi.testclient import TestClient
from psycopg import sql
from pydantic import SecretStr
from sqlalchemy import make_url
from typer.testing import CliRunner, Result

from jitterscope.cli import build
from jitterscope.devstack.ports import free_port
from jitterscope.main import create_app
from jitterscope.settings import Settings, settings
from tests.backend.conftest import Database

pytestmark = pytest.mark.slow

TOKEN = "jsi_" + secrets.token_urlsafe(32)


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(build(), ["setup", *arguments], env=environment)


def moved(url: str, database: str) -> str:
    return make_url(url).set(database=database).render_as_string(hide_password=False)


@pytest.fixture
def fresh(database: Database, settings_override: Callable[..., Settings]) -> Iterator[str]:
    """Settings that name a database that does not exist yet; yields the superuser's URL."""
    name = f"setup_{secrets.token_hex(4)}"
    settings_override(
        owner_database_url=SecretStr(moved(database.owner_url, name)),
        database_url=SecretStr(moved(database.url, name)),
        public_url="https://jitterscope.example",
    )
    yield database.superuser_url
    with psycopg.connect(database.superuser_url, autocommit=True) as superuser:
        superuser.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def test_an_empty_server_becomes_one_that_can_be_used(fresh: str) -> None:
    first = run(JITTERSCOPE_SUPERUSER_DATABASE_URL=fresh, JITTERSCOPE_COLLECTOR_TOKEN=TOKEN)
    assert first.exit_code == 0, first.output
    found = re.search(r"\n  https://jitterscope.example\n  (admin@localhost)  (\S+)\n", first.output)
    assert found is not None, first.output
    again = run(JITTERSCOPE_SUPERUSER_DATABASE_URL=fresh, JITTERSCOPE_COLLECTOR_TOKEN=TOKEN)
    assert (again.exit_code, again.output) == (0, "The schema is up to date.\n")
    with TestClient(create_app(), base_url="https://testserver") as client:
        assert client.get("/readyz").status_code == 200
        # An empty batch is rejected as empty, a wrong token before anything is read.
        for token, status in ((TOKEN, 400), (TOKEN + "x", 401)):
            response = client.post("/api/v1/ingest", content=b"", headers={"Authorization": f"Bearer {token}"})
            assert response.status_code == status, response.text
        credentials = {"email": found[1], "password": found[2]}
        assert client.post("/api/v1/auth/login", json=credentials).is_success
        assert [token["name"] for token in client.get("/api/v1/collectors/tokens").json()["items"]] == [
            "collectors of the installation"
        ]


def test_the_schema_of_a_newer_version_stays_as_it_is(fresh: str) -> None:
    """As an older version finds it after a rollback."""
    assert run(JITTERSCOPE_SUPERUSER_DATABASE_URL=fresh).exit_code == 0
    with psycopg.connect(settings().owner_database_url.get_secret_value()) as owner:
        owner.execute("UPDATE alembic_version SET version_num = 'of_tomorrow'")
    again = run(JITTERSCOPE_SUPERUSER_DATABASE_URL=fresh)
    told = "The schema is from a newer version of Jitterscope (revision of_tomorrow) and was not changed."
    assert (again.exit_code, again.output) == (0, f"{told}\n")
    migrated = CliRunner().invoke(build(), ["migrate"])
    assert (migrated.exit_code, migrated.output) == (1, f"{told}\n")
    with psycopg.connect(settings().owner_database_url.get_secret_value()) as owner:
        assert owner.execute("SELECT version_num FROM alembic_version").fetchall() == [("of_tomorrow",)]


def test_a_chosen_password_is_used_and_not_printed(fresh: str) -> None:
    password = secrets.token_urlsafe(12)
    result = run(
        "--email", "boss@example.org", JITTERSCOPE_SUPERUSER_DATABASE_URL=fresh, JITTERSCOPE_ADMIN_PASSWORD=password,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "boss@example.org  (the password you chose)" in result.output
    assert password not in result.output
    with TestClient(create_app(), base_url="https://testserver") as client:
        credentials = {"email": "boss@example.org", "password": password}
        assert client.post("/api/v1/auth/login", json=credentials).is_success


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"JITTERSCOPE_ADMIN_PASSWORD": "short"}, "JITTERSCOPE_ADMIN_PASSWORD is too short"),
        ({"JITTERSCOPE_COLLECTOR_TOKEN": "jsi_guessable"}, "JITTERSCOPE_COLLECTOR_TOKEN must be jsi_"),
    ],
)
def test_weak_secrets_are_refused(fresh: str, environment: dict[str, str], told: str) -> None:
    result = run(JITTERSCOPE_SUPERUSER_DATABASE_URL=fresh, **environment)
    assert (result.exit_code, told in result.output) == (1, True), result.output


def test_mistakes_in_the_urls_are_named(database: Database, settings_override: Callable[..., Settings]) -> None:
    settings_override(owner_database_url=SecretStr(""))
    assert "JITTERSCOPE_OWNER_DATABASE_URL is not set" in run().output
    settings_override(owner_database_url=SecretStr(database.url))
    assert "must have the user jitterscope_owner" in run().output
    settings_override(owner_database_url=SecretStr(moved(database.owner_url, "other")))
    assert "different databases" in run(JITTERSCOPE_SUPERUSER_DATABASE_URL=database.superuser_url).output


def test_a_database_that_stays_away_is_said(settings_override: Callable[..., Settings]) -> None:
    away = f"postgresql://jitterscope_owner:x@127.0.0.1:{free_port()}/jitterscope"
    settings_override(owner_database_url=SecretStr(away))
    result = run("--timeout-s", "0.1")
    assert (result.exit_code, "does not answer" in result.output) == (1, True), result.output


def test_new_secrets_are_an_environment_file_with_different_values_each_time() -> None:
    made = [CliRunner().invoke(build(), ["new-secrets"]).output for _ in range(2)]
    first, second = (dict(line.split("=", 1) for line in text.splitlines()) for text in made)
    assert first.keys() == second.keys()
    assert not set(first.values()) & set(second.values())
    assert len(set(first.values())) == len(first) == 6
