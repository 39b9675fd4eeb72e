"""Every kind of caller in one organization: the rows of the matrix."""

from __future__ import annotations

import secrets as random
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import psycopg
from psycopg import sql

from jitterscope import db
from jitterscope.sharing import links
from jitterscope.tenancy import secrets, sessions, tokens
from tests.backend.conftest import Database, Organization

# Restated from tenancy/scopes.py, in other words: what each role may do.
ADMINS_ONLY = {"organizations:write", "members:write", "retention:write", "channels:write"}
ADMINS_DOMAINS = {"tokens", "audit", "repositories"}


# As minimal as the table allows: its content is not looked at.
_INCIDENT = """
INSERT INTO incidents (organization_id, cause, title, severity, confidence, state, onset_at, opened_at, last_seen_at,
    resolved_at, trigger_at, window_from, window_to, baseline_at, finding, subject_id, subject_kind, subject_key,
    subject_name, subject_node)
SELECT %s, 'cpu/gc_throttling', 'Test', 'info', 'low', 'resolved', now(), now(), now(), now(), now(), now(), now(),
    now(),
    '{"kind": "found", "cause": "cpu/gc_throttling", "score": 1, "confidence": "low", "severity": "info",
      "title": "Test", "summary": "Test.", "onset_us": 0, "last_us": 0, "impact": {}, "evidence": []}',
    0, 'cgroup', '/test', 'test', 'node'
RETURNING id
"""


@dataclass(frozen=True, slots=True)
class Caller:
    """`holds`: its scopes; None for a caller that must be rejected as if it had sent nothing.

    `has_link`: it has a working link to an incident. That opens the routes of links, and no others.
    """

    name: str
    headers: dict[str, str]
    holds: frozenset[str] | None
    has_link: bool = False


def scopes_of_role(role: str, scopes: Iterable[str]) -> frozenset[str]:
    """What a member with a role holds of the scopes that routes need."""

    def holds(scope: str) -> bool:
        domain, action = scope.split(":")
        if domain == "ingest":
            return False
        if role == "admin":
            return True
        if domain in ADMINS_DOMAINS or scope in ADMINS_ONLY:
            return False
        return action == "read" or role == "editor" or scope == "views:write"

    return frozenset(scope for scope in scopes if holds(scope))


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def cookie(value: str) -> dict[str, str]:
    return {"Cookie": f"jitterscope_session={value}", "X-Requested-With": "jitterscope"}


class Cast:
    """Makes callers of one organization."""

    def __init__(self, database: Database, organization: Organization) -> None:
        self._database, self.organization = database, organization

    def member(self, role: str) -> int:
        """A member's user ID."""
        email = f"{random.token_hex(8)}@example.org"
        with psycopg.connect(self._database.owner_url) as owner:
            row = owner.execute(
                "INSERT INTO users (email, name, password_hash, verified_at) VALUES (%s, %s, 'x', now()) RETURNING id",
                (email, role),
            ).fetchone()
            assert row is not None
            owner.execute(
                "INSERT INTO memberships (organization_id, user_id, role) VALUES (%s, %s, %s)",
                (self.organization.id, row[0], role),
            )
        return int(row[0])

    def session(self, user_id: int) -> dict[str, str]:
        with db.organization_session(self.organization.id) as session:
            return cookie(sessions.start(session, self.organization.id, user_id, "test", "192.0.2.1"))

    def token(self, owner: int, *scopes: str, kind: tokens.Kind = "api", expires_at: datetime | None = None) -> str:
        with db.organization_session(self.organization.id) as session:
            made = tokens.create(
                session, self.organization.id, kind, "cast", scopes, "test", owner, expires_at=expires_at
            )
            return made[1]

    def link(self, owner: int, **changes: object) -> str:
        """The secret of a link to the newest incident, with columns of its row as given."""
        secret = secrets.new_secret(links.PREFIX)
        with psycopg.connect(self._database.owner_url) as database:
            newest = "SELECT id FROM incidents WHERE organization_id = %s ORDER BY id DESC LIMIT 1"
            incident = database.execute(newest, (self.organization.id,)).fetchone()
            incident = incident or database.execute(_INCIDENT, (self.organization.id,)).fetchone()
            assert incident is not None
            columns = {
                "organization_id": self.organization.id, "incident_id": incident[0], "hint": secret[-4:],
                "token_hash": secrets.digest(secret), "created_by": "test", "owner_id": owner,
                "expires_at": datetime.now(UTC) + timedelta(days=1), **changes,
            }  # fmt: skip
            statement = sql.SQL("INSERT INTO shared_links ({}) VALUES ({})").format(
                sql.SQL(", ").join(map(sql.Identifier, columns)), sql.SQL(", ").join(sql.Placeholder() * len(columns))
            )
            database.execute(statement, list(columns.values()))
        return secret

    def administer(self, statement: str, *values: object) -> None:
        with psycopg.connect(self._database.owner_url) as owner:
            owner.execute(statement, values)


def callers(cast: Cast, scopes: Iterable[str]) -> list[Caller]:
    """One of each kind."""
    scopes = frozenset(scopes)
    found = [Caller("no credentials", {}, None)]
    roles = {role: cast.member(role) for role in ("viewer", "editor", "admin")}
    for role, user in roles.items():
        found.append(Caller(f"{role}, signed in", cast.session(user), scopes_of_role(role, scopes)))
    admin = roles["admin"]
    every = scopes_of_role("admin", scopes)
    found += [Caller(f"token {scope}", bearer(cast.token(admin, scope)), frozenset({scope})) for scope in sorted(every)]
    found.append(Caller("token *:*", bearer(cast.token(admin, "*:*")), every))
    reads = frozenset(scope for scope in every if scope.endswith(":read"))
    found.append(Caller("token *:read", bearer(cast.token(admin, "*:read")), reads))
    for role in ("viewer", "editor"):
        demoted = cast.member("admin")
        secret = cast.token(demoted, "*:*")
        cast.administer("UPDATE memberships SET role = %s WHERE user_id = %s", role, demoted)
        found.append(Caller(f"token *:*, owner now {role}", bearer(secret), scopes_of_role(role, scopes)))
    ingest = cast.token(admin, kind="ingest")
    found.append(Caller("ingest token", bearer(ingest), frozenset({"ingest:write"})))
    found.append(Caller("link", bearer(cast.link(admin)), None, has_link=True))
    found.append(Caller("link, and signed in", cast.session(admin) | bearer(cast.link(admin)), None, has_link=True))
    found += _ended(cast, admin)
    return found


def _ended(cast: Cast, admin: int) -> list[Caller]:
    """Callers whose access has ended."""
    expired = cast.token(admin, "*:*", expires_at=datetime.now(UTC) - timedelta(seconds=1))
    revoked = cast.token(admin, "*:*")
    cast.administer("UPDATE tokens SET revoked_at = now() WHERE token_hash = %s", secrets.digest(revoked))
    left, shut_out = cast.member("admin"), cast.member("admin")
    owned = {user: cast.token(user, "*:*") for user in (left, shut_out)}
    ingest = cast.token(left, kind="ingest")
    removed, disabled, ended = cast.member("admin"), cast.member("admin"), cast.member("admin")
    found = [
        Caller("token, expired", bearer(expired), None),
        Caller("token, revoked", bearer(revoked), None),
        Caller("token, unknown", bearer("jsa_" + "x" * 43), None),
        Caller("token, owner removed", bearer(owned[left]), None),
        Caller("ingest token, owner removed", bearer(ingest), None),
        Caller("token, owner disabled", bearer(owned[shut_out]), None),
        Caller("link, expired", bearer(cast.link(admin, expires_at=datetime.now(UTC) - timedelta(seconds=1))), None),
        Caller("link, revoked", bearer(cast.link(admin, revoked_at=datetime.now(UTC))), None),
        Caller("link, unknown", bearer("jsl_" + "x" * 43), None),
        Caller("link, owner removed", bearer(cast.link(left)), None),
        Caller("link, owner disabled", bearer(cast.link(shut_out)), None),
        Caller("link, owner now viewer", bearer(cast.link(cast.member("viewer"))), None),
        Caller("session, member removed", cast.session(removed), None),
        Caller("session, user disabled", cast.session(disabled), None),
        Caller("session, expired", cast.session(ended), None),
        Caller("session, unknown", cookie("x" * 43), None),
    ]
    for user in (removed, left):
        cast.administer("DELETE FROM memberships WHERE user_id = %s", user)
    for user in (disabled, shut_out):
        cast.administer("UPDATE users SET disabled_at = now() WHERE id = %s", user)
    cast.administer("UPDATE sessions SET expires_at = now() WHERE user_id = %s", ended)
    return found
