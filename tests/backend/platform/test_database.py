from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.kit.discovery import import_named
from jitterscope.schema import bootstrap, runner
from jitterscope.settings import Settings
from jitterscope.tenancy.models import Membership, Token
from jitterscope.tenancy.models import Organization as OrganizationRow
from jitterscope.worker import app, task_name_of
from tests.backend.conftest import Database, Organization


def add_token(session: Session, organization: Organization, name: str) -> None:
    secret = secrets.token_bytes(32)
    session.add(
        Token(
            organization_id=organization.id,
            kind="api",
            name=name,
            token_hash=secret,
            hint="",
            scopes=[],
            created_by="test",
            owner_id=session.scalars(select(Membership.user_id)).one(),
        )
    )


def token_names(organization: Organization) -> list[str]:
    with db.organization_session(organization.id) as session:
        return list(session.scalars(select(Token.name).order_by(Token.id)))


def test_hooks_run_after_the_commit_in_order_and_see_its_rows(organization: Organization) -> None:
    seen: list[object] = []
    with db.organization_session(organization.id) as session:
        db.after_commit(session, lambda: seen.append(token_names(organization)))
        db.after_commit(session, lambda: seen.append("second"))
        add_token(session, organization, "new")
        assert seen == []
    assert seen == [["new"], "second"]


def test_hooks_do_not_run_when_the_transaction_fails(organization: Organization) -> None:
    seen: list[str] = []

    def change_my_mind() -> None:
        with db.organization_session(organization.id) as session:
            add_token(session, organization, "gone")
            db.after_commit(session, lambda: seen.append("ran"))
            session.flush()
            raise RuntimeError("changed my mind")

    with pytest.raises(RuntimeError, match="changed my mind"):
        change_my_mind()
    assert seen == []
    assert token_names(organization) == []


def test_a_hook_that_fails_neither_undoes_the_commit_nor_stops_the_others(organization: Organization) -> None:
    seen: list[str] = []

    def fail() -> None:
        raise ConnectionError("the broker is away")

    with db.organization_session(organization.id) as session:
        add_token(session, organization, "kept")
        db.after_commit(session, fail)
        db.after_commit(session, lambda: seen.append("ran"))
    assert token_names(organization) == ["kept"]
    assert seen == ["ran"]


def test_a_pooled_connection_forgets_the_organization(
    organization: Organization, settings_override: Callable[..., Settings]
) -> None:
    settings_override(database_pool_size=1)
    with db.organization_session(organization.id) as session:
        first = session.execute(text("SELECT pg_backend_pid()")).scalar_one()
        assert session.scalars(select(func.count()).select_from(OrganizationRow)).one() == 1
    with db.system_session() as session:
        assert session.execute(text("SELECT pg_backend_pid()")).scalar_one() == first
        assert session.scalars(select(func.count()).select_from(OrganizationRow)).one() == 0


def test_organization_ids_lists_all(organization: Organization, other_organization: Organization) -> None:
    assert {organization.id, other_organization.id} <= set(db.organization_ids())


def test_a_restarted_database_is_no_error(database: Database, organization: Organization) -> None:
    token_names(organization)
    with psycopg.connect(database.superuser_url, autocommit=True) as superuser:
        ours = "FROM pg_stat_activity WHERE usename = 'jitterscope_app'"
        superuser.execute(f"SELECT pg_terminate_backend(pid) {ours}")
        while superuser.execute(f"SELECT 1 {ours}").fetchone() is not None:
            time.sleep(0.01)
    assert token_names(organization) == []


@pytest.fixture
def scratch(database: Database) -> Iterator[str]:
    """The owner's URL of an empty database on the same server."""
    name = f"scratch_{secrets.token_hex(4)}"
    parts = psycopg.conninfo.conninfo_to_dict(database.owner_url)
    app_parts = psycopg.conninfo.conninfo_to_dict(database.url)
    owner_url, _ = bootstrap.bootstrap(database.superuser_url, name, str(parts["password"]), str(app_parts["password"]))
    yield owner_url
    with psycopg.connect(database.superuser_url, autocommit=True) as superuser:
        superuser.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def public_tables(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = ANY ('{r,p,v}')"
        )
        return {name for (name,) in rows}


@pytest.mark.slow
def test_migrations_can_be_undone_and_done_again(scratch: str) -> None:
    runner.migrate(scratch)
    tables = public_tables(scratch)
    assert {"organizations", "incidents", "series_segments"} <= tables
    runner.migrate(scratch)  # nothing to do
    runner.downgrade(scratch)
    assert public_tables(scratch) == {"alembic_version"}
    runner.migrate(scratch)
    assert public_tables(scratch) == tables


def test_every_model_fits_its_table(database: Database, organization: Organization) -> None:
    import_named("jitterscope", "models")
    mappers = list(db.Base.registry.mappers)
    assert len(mappers) > 10
    for mapper in mappers:
        with db.organization_session(organization.id) as session:
            try:
                session.execute(select(mapper.class_).limit(1)).all()
            except ProgrammingError as error:
                pytest.fail(f"{mapper.class_.__name__}: {error.orig}")


def test_periodic_tasks_are_found_and_named_after_their_domain() -> None:
    modules = import_named("jitterscope", "tasks")
    assert modules
    schedule = app.conf.beat_schedule
    assert "tenancy.expire_sessions" in schedule
    for name, entry in schedule.items():
        assert name in app.tasks
        assert entry["schedule"] > 0
        assert entry["options"]["expires"] <= max(entry["schedule"], 1)
    assert task_name_of(modules[0].__dict__.get("expire_sessions", test_organization_ids_lists_all)).count(".") == 1
