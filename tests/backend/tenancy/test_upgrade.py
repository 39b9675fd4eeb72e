"""Existing tokens get the owners that the audit trail names; existing addresses become local or verified."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import psycopg
import pytest

from jitterscope.schema import bootstrap, runner
from tests.backend.conftest import Database

pytestmark = pytest.mark.slow

BEFORE, AFTER = "20261123_2300", "20261123_2310"
INVITATIONS_BEFORE, INVITATIONS_AFTER = "20261125_2130", "20261126_0530"
ACCOUNTS_BEFORE, ACCOUNTS_AFTER = "20261123_2320", "20261123_2330"


@pytest.fixture
def scratch(database: Database) -> Iterator[str]:
    """The owner's URL of a database with the old schema."""
    name = f"scratch_{secrets.token_hex(4)}"
    parts, app = (psycopg.conninfo.conninfo_to_dict(url) for url in (database.owner_url, database.url))
    owner_url, _ = bootstrap.bootstrap(database.superuser_url, name, str(parts["password"]), str(app["password"]))
    runner.migrate(owner_url, BEFORE)
    yield owner_url
    with psycopg.connect(database.superuser_url, autocommit=True) as superuser:
        superuser.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def test_tokens_of_before_get_owners_and_end_where_those_left(scratch: str) -> None:
    def insert(statement: str, *values: object) -> int:
        row = connection.execute(statement + " RETURNING id", values).fetchone()
        assert row is not None
        return int(row[0])

    def token(name: str, user: int | None, by_token: int | None = None) -> int:
        made = insert(
            "INSERT INTO tokens (organization_id, kind, name, token_hash, hint, scopes, created_by) "
            "VALUES (%s, 'api', %s, %s, 'xxxx', ARRAY['*:*'], 'x')",
            organization, name, name.encode(),
        )  # fmt: skip
        if user is not None or by_token is not None:
            insert(
                "INSERT INTO audit_entries (organization_id, actor, actor_kind, user_id, token_id, action, target) "
                "VALUES (%s, 'x', 'session', %s, %s, 'token.create', %s)",
                organization, user, by_token, f"token {made}",
            )  # fmt: skip
        return made

    with psycopg.connect(scratch) as connection:
        organization = insert("INSERT INTO organizations (name) VALUES ('one')")
        users = [
            insert("INSERT INTO users (email, name, password_hash) VALUES (%s, %s, 'x')", f"{one}@example.org", one)
            for one in ("first", "second", "left")
        ]
        for user in users[:2]:
            insert(
                "INSERT INTO memberships (organization_id, user_id, role) VALUES (%s, %s, 'admin')", organization, user
            )
        first, second, left = users
        of_second = token("of the second", user=second)
        token("of its child", user=None, by_token=token("its child", user=None, by_token=of_second))
        token("of one who left", user=left)
        token("of the set-up", user=None)
    runner.migrate(scratch, AFTER)
    with psycopg.connect(scratch) as connection:
        rows = connection.execute("SELECT name, owner_id, revoked_at IS NULL FROM tokens").fetchall()
    assert {name: (owner, holds) for name, owner, holds in rows} == {
        "of the second": (second, True),
        "its child": (second, True),
        "of its child": (second, True),
        "of one who left": (left, False),
        "of the set-up": (first, True),
    }
    runner.downgrade(scratch, BEFORE)
    runner.migrate(scratch, AFTER)


def test_accounts_of_before_are_local_but_for_whom_the_installation_made(scratch: str) -> None:
    runner.migrate(scratch, ACCOUNTS_BEFORE)
    with psycopg.connect(scratch) as connection:
        (first,) = connection.execute("INSERT INTO organizations (name) VALUES ('one') RETURNING id").fetchone() or (0,)
        for name, operator, founder in (("operator", True, False), ("founder", False, True), ("invited", False, False)):
            connection.execute(
                "WITH made AS (INSERT INTO users (email, name, password_hash, is_operator) "
                "VALUES (%s, %s, 'x', %s) RETURNING id) "
                "INSERT INTO memberships (organization_id, user_id, role, created_at) "
                "SELECT %s, id, 'admin', CASE WHEN %s THEN now() ELSE now() + interval '1 minute' END FROM made",
                (f"{name}@example.org", name, operator, first, founder),
            )
    runner.migrate(scratch, ACCOUNTS_AFTER)
    with psycopg.connect(scratch) as connection:
        rows = connection.execute("SELECT name, verified_at IS NOT NULL, home_organization_id FROM users").fetchall()
        # Another organization's account for an address that is known here; a downgrade keeps one of the two.
        (second,) = connection.execute("INSERT INTO organizations (name) VALUES ('b') RETURNING id").fetchone() or (0,)
        connection.execute(
            "INSERT INTO users (email, name, password_hash, home_organization_id) "
            "VALUES ('founder@example.org', 'other', 'x', %s)", (second,),
        )  # fmt: skip
    assert {(name, verified) for name, verified, _ in rows} == {
        ("operator", True), ("founder", True), ("invited", False),
    }  # fmt: skip
    assert {home for *_, home in rows} == {first}
    runner.downgrade(scratch, ACCOUNTS_BEFORE)
    with psycopg.connect(scratch) as connection:
        kept = connection.execute("SELECT name FROM users WHERE email = 'founder@example.org'").fetchall()
    assert kept == [("founder",)]
    runner.migrate(scratch, ACCOUNTS_AFTER)


def test_invitations_of_before_belong_to_whom_the_audit_trail_names(scratch: str) -> None:
    runner.migrate(scratch, INVITATIONS_BEFORE)
    users: dict[str, int] = {}
    with psycopg.connect(scratch, autocommit=True) as connection:

        def insert(statement: str, *values: object) -> int:
            row = connection.execute(statement + " RETURNING id", values).fetchone()
            assert row is not None
            return int(row[0])

        organization = insert("INSERT INTO organizations (name) VALUES ('one')")
        for name, role in (("admin", "admin"), ("demoted", "viewer"), ("left", None), ("owner", "admin")):
            users[name] = insert(
                "INSERT INTO users (email, name, password_hash, verified_at) VALUES (%s, %s, 'x', now())",
                f"{name}@example.org", name,
            )  # fmt: skip
            if role is not None:
                insert(
                    "INSERT INTO memberships (organization_id, user_id, role) VALUES (%s, %s, %s)",
                    organization, users[name], role,
                )  # fmt: skip
        token = insert(
            "INSERT INTO tokens (organization_id, kind, name, token_hash, hint, scopes, created_by, owner_id) "
            "VALUES (%s, 'api', 'x', 'x', 'xxxx', ARRAY['*:*'], 'x', %s)", organization, users["owner"],
        )  # fmt: skip
        for email, user, by_token in (
            *((f"of-{name}@example.org", number, None) for name, number in users.items() if name != "owner"),
            ("of-token@example.org", None, token),
            ("of-nobody@example.org", None, None),
        ):
            with connection.transaction():
                insert(
                    "INSERT INTO invitations (organization_id, email, role, token_hash, invited_by, expires_at) "
                    "VALUES (%s, %s, 'viewer', %s, 'x', now() + interval '1 day')",
                    organization, email, email.encode(),
                )  # fmt: skip
                insert(
                    "INSERT INTO audit_entries (organization_id, actor, actor_kind, user_id, token_id, action, target) "
                    "VALUES (%s, 'x', 'session', %s, %s, 'member.invite', %s)",
                    organization, user, by_token, email,
                )  # fmt: skip
    runner.migrate(scratch, INVITATIONS_AFTER)
    with psycopg.connect(scratch) as connection:
        rows = connection.execute("SELECT email, owner_id, token_id FROM invitations ORDER BY email").fetchall()
    assert rows == [
        ("of-admin@example.org", users["admin"], None), ("of-token@example.org", users["owner"], token),
    ]  # fmt: skip
    runner.downgrade(scratch, INVITATIONS_BEFORE)
    runner.migrate(scratch, INVITATIONS_AFTER)
