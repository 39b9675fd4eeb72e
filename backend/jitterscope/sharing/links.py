"""Shared links: made, listed, revoked, and recognized."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from sqlalchemy.orm import Session

from jitterscope.errors import Problem, not_found
from jitterscope.sharing import store
from jitterscope.sharing.models import SharedLinkRow
from jitterscope.tenancy import secrets, tokens
from jitterscope.tenancy.principal import Principal
from jitterscope.tenancy.scopes import Role, role_allows

PREFIX = "jsl_"
# What its owner must still be allowed to do for a link to work.
SCOPE = "links:write"
Ended = Literal["revoked", "expired", "forbidden", "owner_may_not"]
_NOTED_EVERY = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Holder:
    """Whoever holds a link: nobody knows who. It stands for one incident of one organization."""

    link_id: int
    organization_id: int
    incident_id: int
    expires_at: datetime


def create(session: Session, principal: Principal, incident_id: int, days: int) -> tuple[SharedLinkRow, str]:
    """A new link and its secret, which is kept nowhere. Raises Problem 403 where the organization forbids links.

    Made with an API token it ends no later than the token.
    """
    if principal.person is None:
        raise RuntimeError("a caller without a person behind it")
    if not store.links_allowed(session):
        raise Problem(
            403,
            "links-forbidden",
            "Links are turned off",
            "This organization does not allow read-only links.",
            "An administrator can allow them in Settings > Shared links.",
        )
    tokens.hold(session, principal)
    secret = secrets.new_secret(PREFIX)
    row = SharedLinkRow(
        organization_id=principal.organization_id,
        incident_id=incident_id,
        token_hash=secrets.digest(secret),
        hint=secret[-4:],
        created_by=principal.actor,
        owner_id=principal.person,
        token_id=principal.token_id,
        expires_at=store.days_from_now(days, principal.expires_at),
    )
    session.add(row)
    session.flush()
    session.refresh(row)
    return row, secret


def revoke(session: Session, link_id: int) -> tuple[SharedLinkRow, bool]:
    """End a link at once; whether it was not revoked before. Raises Problem 404."""
    row = session.get(SharedLinkRow, link_id, with_for_update=True)
    if row is None:
        raise not_found("link", link_id)
    if row.revoked_at is not None:
        return row, False
    row.revoked_at = datetime.now(UTC)
    return row, True


def ended(row: SharedLinkRow, roles: Mapping[int, Role], *, links_allowed: bool) -> Ended | None:
    """Why a link does not work now; None where it does. `roles`: of the organization's members, by user."""
    return _ended(row.revoked_at, row.expires_at, roles.get(row.owner_id), links_allowed)


def holder_of(secret: str) -> Holder:
    """Whom a secret stands for. Raises Problem 401 where it is unknown or the link has ended, and says which."""
    if not secret.startswith(PREFIX) or len(secret) > tokens.MAX_SECRET_LENGTH:
        raise _refused(None)
    found = store.with_hash(secrets.digest(secret))
    if found is None:
        raise _refused(None)
    why = _ended(found.revoked_at, found.expires_at, found.owner_role, found.links_allowed)
    if why is not None:
        raise _refused(why)
    return Holder(found.link_id, found.organization_id, found.incident_id, found.expires_at)


def note_use(session: Session, holder: Holder) -> None:
    """Remember when the link was last used, to 10 s: a page that asks again writes nothing."""
    store.note_use(session, holder.link_id, _NOTED_EVERY)


def _ended(
    revoked_at: datetime | None, expires_at: datetime, owner_role: Role | None, links_allowed: bool
) -> Ended | None:
    if revoked_at is not None:
        return "revoked"
    if expires_at <= datetime.now(UTC):
        return "expired"
    if not links_allowed:
        return "forbidden"
    return None if owner_role is not None and role_allows(owner_role, SCOPE) else "owner_may_not"


_WHY: Mapping[Ended | None, tuple[str, str]] = {
    "revoked": ("This link was revoked", "A member of the organization revoked it."),
    "expired": ("This link has expired", "Links to incidents end after at most 90 days."),
    "forbidden": ("This link does not work now", "The organization has turned read-only links off."),
    # Not whose: the holder of a link has no business with members.
    "owner_may_not": ("This link does not work now", "Its creator is no longer allowed to share."),
    None: ("This link is unknown", "It is mistyped, incomplete, or was never valid."),
}


def _refused(why: Ended | None) -> Problem:
    title, detail = _WHY[why]
    return Problem(
        401,
        "link-ended" if why is not None else "link-unknown",
        title,
        detail,
        "Ask the person who sent it for a new link.",
        headers={"WWW-Authenticate": 'Bearer realm="jitterscope shared link"'},
    )
