"""An authenticated caller, and the refusal of anybody else."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from jitterscope.errors import Problem
from jitterscope.slots import Caller
from jitterscope.tenancy.scopes import Role, role_allows, scopes_allow, scopes_of


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller inside one organization."""

    organization_id: int
    kind: Literal["session", "api_token", "ingest_token"]
    actor: str  # shown in histories and the audit trail: a user's name or "token NAME"
    user_id: int | None = None
    token_id: int | None = None
    session_id: int | None = None
    role: Role | None = None
    scopes: frozenset[str] = frozenset()
    # For a token: its owner, the owner's current role, and when it expires.
    owner_id: int | None = None
    owner_role: Role | None = None
    expires_at: datetime | None = None

    def can(self, scope: str) -> bool:
        """Whether the caller holds a scope. A token holds no more than its owner currently does."""
        if self.role is not None:
            return role_allows(self.role, scope)
        if self.owner_role is None or not scopes_allow(self.scopes, scope):
            return False
        # Members have no right to send data: those who may create collector tokens may own one.
        return role_allows(self.owner_role, "collectors:write" if scope == "ingest:write" else scope)

    def holds_role(self, role: Role) -> bool:
        """Whether the caller holds every scope of a role: only then may it give or take that role."""
        return all(self.can(scope) for scope in scopes_of(role))

    @property
    def person(self) -> int | None:
        """The user behind the caller: the signed-in user, or the token's owner."""
        return self.user_id if self.user_id is not None else self.owner_id

    @property
    def caller(self) -> Caller:
        """The identity that takes request slots: all sessions of a user share one."""
        who = f"user {self.user_id}" if self.kind == "session" else f"token {self.token_id}"
        return Caller(who, self.organization_id)


def unauthenticated(why: str) -> Problem:
    """401 that says how to authenticate."""
    return Problem(
        401,
        "unauthenticated",
        "Sign in first",
        why,
        "POST /api/v1/auth/login, or send `Authorization: Bearer TOKEN`.",
        headers={"WWW-Authenticate": 'Bearer realm="jitterscope"'},
    )
