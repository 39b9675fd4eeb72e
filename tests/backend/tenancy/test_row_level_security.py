"""Raw SQL as the application role stays inside one organization, whatever it says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import psycopg
import pytest
from psycopg import sql

from tests.backend.conftest import Database, Organization
from tests.support.seeding import SENTINEL, Seeded, fingerprint, seed

# Each runs with the schema owner's rights. A new one must return only what its arguments prove knowledge of, or change
# nothing that the caller could not change itself; then add it here.
REVIEWED_DEFINER_FUNCTIONS = {
    "auth_accept_invitation", "auth_create_organization", "auth_expire", "auth_invitation", "auth_login",
    "auth_password_salts", "auth_record_failed_sign_in", "auth_session",
    "auth_session_organizations", "auth_set_password", "auth_shared_link", "auth_token", "end_links_of_member",
    "end_links_of_token", "drop_empty_time_partitions",
    "auth_start_verification", "auth_verify_email", "end_tokens_of_member", "forget_local_account",
    "end_invitations_of_member", "end_invitations_of_token",
    "ensure_time_partitions", "system_diagnosis_turns", "system_organization_ids",
}  # fmt: skip


@pytest.fixture
def seeded(database: Database, other_organization: Organization) -> Seeded:
    return seed(database.superuser_url, other_organization.id)


@pytest.fixture
def connection(database: Database, organization: Organization, seeded: Seeded) -> Iterator[psycopg.Connection]:
    """The application role, inside organization A."""
    with psycopg.connect(database.url, autocommit=True) as opened:
        opened.execute("SELECT set_config('jitterscope.organization_id', %s, false)", (str(organization.id),))
        yield opened


def test_the_seeded_rows_are_there_for_their_own_organization(database: Database, seeded: Seeded) -> None:
    with psycopg.connect(database.url, autocommit=True) as own:
        own.execute("SELECT set_config('jitterscope.organization_id', %s, false)", (str(seeded.organization_id),))
        empty = [table for table in seeded.tables if _count(own, table) == 0]
    assert empty == []
    assert len(seeded.tables) > 15


def test_no_table_view_partition_or_chunk_shows_another_organization(
    connection: psycopg.Connection, database: Database, seeded: Seeded
) -> None:
    relations = connection.execute(
        "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') "
        "AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"
    ).fetchall()
    assert {table for _, table in relations} >= set(seeded.tables)
    readable = 0
    for schema, table in relations:
        query = sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(schema, table))
        try:
            rows = connection.execute(query).fetchall()
        except psycopg.errors.InsufficientPrivilege:
            continue
        readable += 1
        assert not [row for row in rows if SENTINEL in row[0]], f"{schema}.{table} shows another organization's rows"
    assert readable >= len(seeded.tables)


def test_partitions_and_chunks_cannot_be_read_directly(connection: psycopg.Connection, database: Database) -> None:
    with psycopg.connect(database.superuser_url) as superuser:
        children = superuser.execute(
            "SELECT n.nspname, c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
            "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' "
            "AND n.nspname NOT LIKE '\\_timescaledb%'"
        ).fetchall()
    assert len(children) >= 5
    for schema, table in children:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(schema, table)))


def test_without_an_organization_every_table_is_empty(database: Database, seeded: Seeded) -> None:
    with psycopg.connect(database.url, autocommit=True) as nobody:
        assert {table: _count(nobody, table) for table in seeded.tables} == dict.fromkeys(seeded.tables, 0)


def test_rows_of_another_organization_cannot_be_written(
    connection: psycopg.Connection, database: Database, organization: Organization, seeded: Seeded
) -> None:
    before = fingerprint(database.superuser_url, seeded.organization_id)
    for table in seeded.tables:
        name = sql.Identifier(table)
        for statement in ("DELETE FROM {}", "UPDATE {} SET organization_id = organization_id"):
            # Rejected because there is no such grant at all, as for the audit trail.
            with suppress(psycopg.errors.InsufficientPrivilege):
                connection.execute(
                    sql.SQL(statement + " WHERE organization_id = %s").format(name), (seeded.organization_id,)
                )
    assert fingerprint(database.superuser_url, seeded.organization_id) == before
    (owner,) = connection.execute("SELECT user_id FROM memberships").fetchone() or (0,)
    for column in ("name", "hint", "created_by"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(
                "INSERT INTO tokens (organization_id, kind, name, token_hash, hint, scopes, created_by, owner_id) "
                "VALUES (%s, 'api', 'mine', %s, 'hint', '{*:*}', 'me', %s)",
                (seeded.organization_id, column.encode(), owner),
            )
    connection.execute(
        "INSERT INTO tokens (organization_id, kind, name, token_hash, hint, scopes, created_by, owner_id) "
        "VALUES (%s, 'api', 'mine', 'hash-of-mine', 'hint', '{*:*}', 'me', %s)",
        (organization.id, owner),
    )
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("UPDATE tokens SET organization_id = %s WHERE name = 'mine'", (seeded.organization_id,))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT password_hash FROM users",
        "SELECT * FROM users",
        "SET ROLE jitterscope_owner",
        "SET SESSION AUTHORIZATION postgres",
        "ALTER TABLE tokens DISABLE ROW LEVEL SECURITY",
        "DROP POLICY tenant ON tokens",
        "ALTER TABLE tokens OWNER TO jitterscope_app",
        "CREATE TABLE mine (a int)",
        "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "ALTER ROLE jitterscope_app BYPASSRLS",
        "UPDATE audit_entries SET actor = 'somebody else'",
        "DELETE FROM audit_entries",
        "TRUNCATE tokens",
        "COPY tokens TO PROGRAM 'cat'",
        "SELECT pg_read_file('/etc/passwd')",
    ],
)
def test_the_application_role_cannot_leave_its_bounds(connection: psycopg.Connection, statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement)


def test_password_hashes_never_leave_the_database(
    connection: psycopg.Connection, other_organization: Organization
) -> None:
    found = connection.execute(
        "SELECT user_id, salt FROM auth_password_salts(%s, NULL)", (other_organization.email,)
    ).fetchall()
    ((user_id, salt),) = found
    assert len(salt.split("$")) == 5  # method, version, parameters, salt; no hash
    guesses = connection.execute("SELECT * FROM auth_login(%s::bigint, %s)", (user_id, salt)).fetchall()
    assert guesses == []


def test_turning_row_security_off_refuses_instead_of_showing(connection: psycopg.Connection) -> None:
    connection.execute("SET row_security = off")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        connection.execute("SELECT * FROM tokens")


def test_the_application_role_has_no_powers(database: Database) -> None:
    with psycopg.connect(database.superuser_url) as superuser:
        role = superuser.execute(
            "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication FROM pg_roles "
            "WHERE rolname = 'jitterscope_app'"
        ).fetchone()
        memberships = superuser.execute(
            "SELECT count(*) FROM pg_auth_members WHERE member = 'jitterscope_app'::regrole"
        ).fetchone()
        owned = superuser.execute(
            "SELECT count(*) FROM pg_class WHERE relowner = 'jitterscope_app'::regrole"
        ).fetchone()
        unprotected = superuser.execute(
            "SELECT c.relname FROM pg_class c "
            "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization_id' "
            "WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition "
            "AND NOT c.relrowsecurity"
        ).fetchall()
        definers = superuser.execute(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef "
            "AND has_function_privilege('jitterscope_app', oid, 'execute')"
        ).fetchall()
    assert role == (False,) * 5
    assert memberships == (0,)
    assert owned == (0,)
    assert unprotected == []
    assert {name for (name,) in definers} <= REVIEWED_DEFINER_FUNCTIONS


def _count(connection: psycopg.Connection, table: str) -> int:
    row = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
    assert row is not None
    return int(row[0])
