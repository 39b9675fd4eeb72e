"""auth/login, auth/logout, auth/session, auth/switch, auth/accept, me."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from sqlalchemy import select, text

from jitterscope import db
from jitterscope.audit import service as audit
from jitterscope.errors import Problem, not_found
from jitterscope.settings import settings
from jitterscope.tenancy import login, members, secrets, sessions
from jitterscope.tenancy.auth import COOKIE, Principal, authenticate, check_origin
from jitterscope.tenancy.models import Organization, User
from jitterscope.tenancy.schemas import (
    AcceptRequest,
    LoginRequest,
    Me,
    OrganizationInfo,
    OrganizationRef,
    PasswordChange,
    SwitchRequest,
)
from jitterscope.tenancy.scopes import role_allows

router = APIRouter(tags=["sign in"])
Caller = Annotated[Principal, Depends(authenticate)]


def address_of(request: Request) -> str:
    """The caller's network address, for rate limits."""
    return request.client.host if request.client else "unknown"


def set_cookie(response: Response, cookie: str) -> None:
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=settings().session_ttl_s,
        httponly=True,
        samesite="lax",
        secure=settings().cookie_secure,
        path="/",
    )


@router.post("/auth/login")
def log_in(body: LoginRequest, request: Request, response: Response) -> Me:
    """Start a session: sets an HttpOnly cookie. Wrong credentials and unknown users look the same."""
    done = login.log_in(
        body.email,
        body.password.get_secret_value(),
        body.organization_id,
        request.headers.get("user-agent", ""),
        address_of(request),
    )
    principal = _principal(done.cookie)
    with db.organization_session(done.organization_id) as session:
        audit.record(session, principal, "session.start", f"user {done.user_id}", {"address": address_of(request)})
    set_cookie(response, done.cookie)
    return _me(principal, done.cookie)


@router.post("/auth/logout", status_code=204)
def log_out(request: Request, response: Response) -> None:
    """End the session. Without one, nothing happens."""
    cookie = request.cookies.get(COOKIE)
    if cookie:
        check_origin(request)
        principal = sessions.principal_of(cookie)
        if principal is not None:
            sessions.end(principal)
    response.delete_cookie(COOKIE, path="/")


@router.get("/auth/session")
def session_of_browser(request: Request) -> Me | None:
    """Who is signed in with this browser's cookie; null for nobody, which is no error here."""
    cookie = request.cookies.get(COOKIE, "")
    principal = sessions.principal_of(cookie) if cookie else None
    return None if principal is None else _me(principal, cookie)


@router.post("/auth/switch")
def switch_organization(body: SwitchRequest, principal: Caller, request: Request, response: Response) -> Me:
    """Go on in another organization of yours, in a new session."""
    cookie = request.cookies.get(COOKIE, "")
    user_id = _session_user(principal)
    if body.organization_id not in [one.id for one in sessions.organizations_of(cookie)]:
        raise not_found("organization", body.organization_id)
    with db.organization_session(body.organization_id) as session:
        new = sessions.start(
            session, body.organization_id, user_id, request.headers.get("user-agent", ""), address_of(request)
        )
    sessions.end(principal)
    set_cookie(response, new)
    return _me(_principal(new), new)


@router.post("/auth/accept")
def accept_invitation(body: AcceptRequest, request: Request, response: Response) -> Me:
    """Use an invitation, and sign in."""
    password = body.password.get_secret_value()
    organization_id, email = members.accept(body.token, body.name, password, address_of(request))
    done = login.log_in(email, password, organization_id, request.headers.get("user-agent", ""), address_of(request))
    principal = _principal(done.cookie)
    with db.organization_session(organization_id) as session:
        audit.record(session, principal, "member.join", f"user {principal.user_id}", {"role": principal.role})
    set_cookie(response, done.cookie)
    return _me(principal, done.cookie)


@router.get("/me")
def me(principal: Caller, request: Request) -> Me:
    """Who is calling, in which organization, with which rights."""
    return _me(principal, request.cookies.get(COOKIE, "") if principal.kind == "session" else "")


@router.post("/me/password", status_code=204)
def change_password(body: PasswordChange, principal: Caller) -> None:
    """Change the own password; the user's other sessions in this organization end."""
    user_id = _session_user(principal)
    login.limit_attempts("password", f"user {user_id}")
    with db.organization_session(principal.organization_id) as session:
        email = session.scalars(select(User.email).where(User.id == user_id)).one()
        old = login.password_hash(session, email, body.current_password.get_secret_value())
        changed = session.execute(
            text("SELECT auth_set_password(:user, :old, :new)"),
            {"user": user_id, "old": old, "new": secrets.hash_password(body.new_password.get_secret_value())},
        ).scalar_one()
        if not changed:
            raise Problem(
                401, "wrong-credentials", "Wrong password", "The current password is incorrect.", "Enter it again."
            )
        sessions.end_others(session, principal)
        audit.record(session, principal, "user.change_password", f"user {user_id}")


def _session_user(principal: Principal) -> int:
    if principal.user_id is None:
        raise Problem(
            403,
            "session-needed",
            "Not for tokens",
            "Only signed-in users can do this, not tokens.",
            "Sign in with a browser.",
        )
    return principal.user_id


def _principal(cookie: str) -> Principal:
    principal = sessions.principal_of(cookie)
    if principal is None:
        raise RuntimeError("a session that was just started is not there")
    return principal


SCOPES = (
    "incidents",
    "risks",
    "resources",
    "series",
    "causes",
    "collectors",
    "channels",
    "analyses",
    "members",
    "tokens",
    "organizations",
    "audit",
)


def _me(principal: Principal, cookie: str) -> Me:
    with db.organization_session(principal.organization_id) as session:
        organization = session.scalars(select(Organization).where(Organization.id == principal.organization_id)).one()
        email = (
            session.scalars(select(User.email).where(User.id == principal.user_id)).one_or_none()
            if principal.user_id is not None
            else None
        )
    role = principal.role
    scopes = (
        sorted(principal.scopes)
        if role is None
        else [
            f"{domain}:{action}"
            for domain in SCOPES
            for action in ("read", "write")
            if role_allows(role, f"{domain}:{action}")
        ]
    )
    return Me(
        kind=principal.kind,
        actor=principal.actor,
        user_id=principal.user_id,
        email=email,
        organization=OrganizationRef.model_validate(organization),
        role=role,
        scopes=scopes,
        organizations=[OrganizationInfo.model_validate(one) for one in sessions.organizations_of(cookie)]
        if cookie
        else [],
    )
