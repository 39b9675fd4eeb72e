"""A database from before remote-write series were identified by their labels."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import psycopg
import pytest

from jitterscope.schema import bootstrap, runner
from tests.backend.conftest import Database


@pytest.fixture
def scratch_before(database: Database) -> Iterator[str]:
    """The owner's URL."""
    name = f"scratch_{secrets.token_hex(4)}"
    parts, app = (psycopg.conninfo.conninfo_to_dict(url) for url in (database.owner_url, database.url))
    owner_url, _ = bootstrap.bootstrap(database.superuser_url, name, str(parts["password"]), str(app["password"]))
    runner.migrate(owner_url, "20261124_2010")
    yield owner_url
    with psycopg.connect(database.superuser_url, autocommit=True) as superuser:
        superuser.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
