"""A backup as docs/operations.md describes it: dumped, restored into another database, and used."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr
from sqlalchemy import make_url, text

from jitterscope import db
from jitterscope.devstack.postgres import PostgresServer
from jitterscope.schema import bootstrap
from jitterscope.series import compaction
from jitterscope.series import service as series
from jitterscope.settings import REPOSITORY, Settings
from tests.support.batches import CGROUP, TICK_US, BatchBuilder, now_us


def documented(name: str) -> list[str]:
    """The commands of a block on the page, one per line."""
    page = (REPOSITORY / "docs" / "operations.md").read_text()
    block = re.search(rf"```sh {name}\n(.*?)```", page, re.DOTALL)
    assert block is not None, name
    return block[1].strip().splitlines()


def run(server: PostgresServer, commands: list[str], **variables: str) -> None:
    flavour = server.flavour
    path = {"PATH": f"{flavour.bin}:{os.environ['PATH']}"}
    for command in commands:
        inside = ["chroot", str(flavour.root)] if flavour.root is not None else []
        done = subprocess.run(
            [*inside, "/bin/sh", "-ec", command], env=path | dict(flavour.environment) | variables,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}: {done.stderr[-2000:]}"


@pytest.mark.slow
def test_what_was_dumped_is_all_there_after_a_restore(
    api: TestClient, organization: Any, other_organization: Any, servers: Any, database: Any,
    settings_override: Callable[..., Settings], tmp_path: Path,
) -> None:  # fmt: skip
    server = servers[0]
    start_us = now_us() // compaction.WINDOW_US * compaction.WINDOW_US - 2 * compaction.WINDOW_US
    for at_us in (start_us, now_us() - 60_000_000):  # one window was compacted before, one was not
        builder = BatchBuilder()
        cgroup = builder.resource(CGROUP, "/a", 0)
        builder.block({(cgroup, "cpu_usage_us"): np.arange(20.0)}, at_us)
        assert api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers).is_success
    compaction.compact(organization.id, now_us())

    folder = Path("/tmp") / f"jitterscope-backup-{secrets.token_hex(4)}"  # also visible from the server's root
    name = f"restored_{secrets.token_hex(4)}"
    superuser = make_url(server.url("jitterscope"))
    run(server, documented("backup"), SUPERUSER_URL=superuser.render_as_string(hide_password=False), FILE=str(folder))
    owner, app = make_url(database.owner_url), make_url(database.url)
    bootstrap.bootstrap(server.url(), name, str(owner.password), str(app.password))
    restored = superuser.set(database=name).render_as_string(hide_password=False)
    try:
        run(server, documented("restore"), SUPERUSER_URL=restored, FILE=str(folder))
        settings_override(
            database_url=SecretStr(app.set(database=name).render_as_string(hide_password=False)),
            owner_database_url=SecretStr(owner.set(database=name).render_as_string(hide_password=False)),
        )
        assert api.get("/api/v1/me").json()["organization"]["id"] == organization.id, "tokens work"
        signed_in = api.post(
            "/api/v1/auth/login", json={"email": organization.email, "password": organization.password}
        )
        assert signed_in.status_code == 200, signed_in.text
        with db.organization_session(organization.id) as session:
            (cgroup_id,) = session.execute(text("SELECT id FROM resources WHERE kind = 'cgroup'")).scalars()
            found = series.read_series(session, [cgroup_id], ["cpu_usage_us"], start_us, now_us() + TICK_US)
        values = found[cgroup_id, "cpu_usage_us"]
        assert values[~np.isnan(values)].tolist() == [*range(20), *range(20)]
        with db.organization_session(other_organization.id) as session:
            assert session.execute(text("SELECT count(*) FROM resources")).scalar_one() == 0, "tenants stay apart"
        builder = BatchBuilder()
        builder.block({(0, "host_idle_us"): np.zeros(2)}, now_us() - 10_000_000)
        assert api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers).is_success
    finally:
        db.dispose()
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        root = server.flavour.root
        (folder if root is None else root / folder.relative_to("/")).unlink(missing_ok=True)
