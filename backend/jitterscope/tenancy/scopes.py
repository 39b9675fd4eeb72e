"""What a principal may do. A scope is "domain:action"; "*" matches any value of either part."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Role = Literal["viewer", "editor", "admin"]

# Reading or changing these is administration: who has access, and what they did.
ADMINISTRATION = ("organizations", "members", "tokens", "audit", "channels", "retention", "repositories")
INGEST = frozenset({"ingest:write"})
# Every domain that a scope can be about; routes name no other.
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
    """Whether a member with this role holds a scope.

    Viewers read and keep their own views, editors change, admins administer.
    """
    domain, _, action = scope.partition(":")
    if role == "admin":
        return domain != "ingest"  # data comes only from collectors
    if domain in ADMINISTRATION or domain == "ingest":
        # Members may know who is paged and about what; targets are shown without secrets.
        return scope in ("organizations:read", "members:read", "channels:read")
    # Private views are a member's own, as the theme is.
    return action == "read" or role == "editor" or scope == "views:write"


def scopes_of(role: Role) -> list[str]:
    """Every scope that a role holds."""
    every = (f"{domain}:{action}" for domain in DOMAINS for action in ("read", "write"))
    return [scope for scope in every if role_allows(role, scope)]


def scopes_allow(granted: Iterable[str], scope: str) -> bool:
    """Whether a token's scopes include one. "*" alone covers everything but ingest."""
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
