"""What a principal may do. A scope is "domain:action"; "*" matches any of either part."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Role = Literal["viewer", "editor", "admin"]

# Reading or changing these is administration: who may enter, and what they did.
ADMINISTRATION = ("organizations", "members", "tokens", "audit", "channels", "retention", "repositories")
INGEST = frozenset({"ingest:write"})
# Everything that a scope can be about; routes name no other.
DOMAINS = (
    "incidents",
    "risks",
    "resources",
    "series",
    "retention",
    "causes",
    "collectors",
    "channels",
    "analyses",
    "links",
    "changes",
    "views",
    "shared_views",
    "repositories",
    "members",
    "tokens",
    "organizations",
    "audit",
)


def role_allows(role: Role, scope: str) -> bool:
    """Whether a member with this role holds a scope. Viewers read and keep views of their own, editors change, admins
    administer."""
    domain, _, action = scope.partition(":")
    if role == "admin":
        return domain != "ingest"  # data come from collectors only
    if domain in ADMINISTRATION or domain == "ingest":
        # Who is paged, and about what, is no secret among members; where to is shown without secrets.
        return scope in ("organizations:read", "members:read", "channels:read")
    # Views that nobody else sees are a member's own, as the theme is.
    return action == "read" or role == "editor" or scope == "views:write"


def scopes_of(role: Role) -> list[str]:
    """Every scope that a role holds."""
    every = (f"{domain}:{action}" for domain in DOMAINS for action in ("read", "write"))
    return [scope for scope in every if role_allows(role, scope)]


def scopes_allow(granted: Iterable[str], scope: str) -> bool:
    """Whether a token's scopes cover one. "*" alone covers everything but ingest."""
    domain, _, action = scope.partition(":")
    for one in granted:
        if one == scope:
            return True
        if domain == "ingest":
            continue
        their_domain, _, their_action = one.partition(":")
        if one == "*" or (their_domain in ("*", domain) and their_action in ("*", action)):
            return True
    return False
