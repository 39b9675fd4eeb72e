"""REST shapes of organizations, people and tokens."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr

from jitterscope.kit.schema import Schema
from jitterscope.tenancy.scopes import Role
from jitterscope.tenancy.secrets import MIN_PASSWORD_LENGTH


def _email(value: str) -> str:
    local, at, domain = value.strip().lower().partition("@")
    if not (local and at and domain) or "@" in domain or any(ord(one) <= 32 for one in local + domain):
        raise ValueError("is not an email address")
    return f"{local}@{domain}"


# Loose on purpose: only the address's own server knows what is valid, and "admin@localhost" must be.
Email = Annotated[str, Field(max_length=320), AfterValidator(_email)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]*\S[^\x00-\x1f]*$")]
# Names of the service and of tokens in histories and the audit trail.
_RESERVED = re.compile(r"\s*(jitterscope\s*$|token\s)", re.IGNORECASE)


def _of_a_person(value: str) -> str:
    if _RESERVED.match(unicodedata.normalize("NFKC", value)):
        raise ValueError("is how Jitterscope names itself or a token")
    return value


PersonName = Annotated[Name, AfterValidator(_of_a_person)]
NewPassword = Annotated[SecretStr, Field(min_length=MIN_PASSWORD_LENGTH, max_length=500)]
Scope = Annotated[str, Field(max_length=100)]


class LoginRequest(Schema):
    email: Email
    password: Annotated[SecretStr, Field(max_length=500)]
    organization_id: int | None = Field(
        default=None, description="null: the one joined first. Needed if the address has more than five accounts"
    )


class OrganizationInfo(Schema):
    id: int
    name: str
    role: Role


class InstallationWarning(Schema):
    """Something that an administrator should fix."""

    title: str
    detail: str
    what_to_do: str


class Me(Schema):
    """The caller. For tokens, user fields are null and `organizations` has only the token's organization."""

    kind: Literal["session", "api_token", "ingest_token"]
    actor: str
    user_id: int | None
    email: str | None
    email_verified: bool | None = Field(
        description="Whether the address is verified: by email, or by the operator of the installation"
    )
    sends_mail: bool = Field(description="Whether this installation sends email")
    organization: OrganizationRef
    role: Role | None
    scopes: list[str]
    organizations: list[OrganizationInfo]
    warnings: list[InstallationWarning] = Field(description="About the installation; for administrators")


class OrganizationRef(Schema):
    id: int
    name: str


class SwitchRequest(Schema):
    organization_id: int


class PasswordChange(Schema):
    current_password: Annotated[SecretStr, Field(max_length=500)]
    new_password: NewPassword


class LimitUse(Schema):
    """One limit of the organization and its use: in the busier of this and the last minute, or now."""

    name: str
    title: str
    unit: str
    most: int
    used: int
    near: bool = Field(description="80 % or more is used")


class OrganizationChange(Schema):
    name: Name


class Organization(Schema):
    id: int
    name: str
    created_at: datetime


class Member(Schema):
    user_id: int
    email: str
    name: str
    role: Role
    joined_at: datetime
    email_verified: bool = Field(description="If false, the address counts only in this organization")


class RoleChange(Schema):
    role: Role
    ingest_tokens: Literal["take_over", "revoke"] | None = Field(
        default=None, description="Required if the member owns ingest tokens and becomes a viewer"
    )


class InvitationRequest(Schema):
    email: Email
    role: Role


class Invitation(Schema):
    id: int
    email: str
    role: Role
    invited_by: str
    created_at: datetime
    expires_at: datetime
    accepted_at: datetime | None


class NewInvitation(Schema):
    """If the installation sends email, `token` and `accept_url` are null: only the mailbox gets them. Otherwise they
    are shown once: give `accept_url` to the invited person."""

    invitation: Invitation
    token: str | None
    accept_url: str | None


class InvitationToken(Schema):
    token: Annotated[str, Field(max_length=200)]


class OpenInvitation(Schema):
    """What the holder of an invitation link sees."""

    organization: str
    email: str
    role: Role
    known: bool = Field(description="The invited person has an account: sign in, then accept with its session")


class AcceptRequest(InvitationToken):
    """Without name and password, the signed-in account joins."""

    name: PersonName = "New member"
    password: NewPassword | None = Field(default=None, description="For a new account")


class TokenRequest(Schema):
    name: Name
    scopes: list[Scope] = Field(min_length=1, max_length=50, examples=[["incidents:read", "series:read"]])
    expires_at: datetime | None = None


class IngestTokenRequest(Schema):
    name: Name = "collector"


class TokenInfo(Schema):
    id: int
    kind: Literal["api", "ingest"]
    name: str
    hint: str = Field(description="The last four characters of the secret")
    scopes: list[str]
    created_by: str
    owner_id: int
    owner: str | None = Field(description="The member who owns it; it ends when they leave. Null: the member has left")
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class NewToken(Schema):
    """`secret` is shown once and not stored."""

    token: TokenInfo
    secret: str


class NewIngestToken(NewToken):
    install_command: str = Field(description="One line that installs and starts the collector on a machine")


Me.model_rebuild()
