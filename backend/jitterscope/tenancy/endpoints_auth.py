"""auth/login, auth/logout, auth/session, auth/switch, auth/accept, me."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from jitterscope import db, mail, proxies
from jitterscope.answers import refuses
from jitterscope.audit import service as audit
from jitterscope.bounds import OPEN, QUICK, SIGN_IN, bounded
from jitterscope.errors import Problem, not_found
from jitterscope.kit.declared import anyone, audited, not_audited
from jitterscope.kit.networks import network_of
from jitterscope.settings import settings
from jitterscope.tenancy import devices, joining, login, mail_limits, secrets, sessions
from jitterscope.tenancy.attempts import per_minute
from jitterscope.tenancy.auth import COOKIE, authenticate, check_origin
from jitterscope.tenancy.principal import Principal, unauthenticated
from jitterscope.tenancy.schemas import (
    AcceptRequest,
    InstallationWarning,
    InvitationToken,
    LoginRequest,
    Me,
    OpenInvitation,
    OrganizationInfo,
    OrganizationRef,
    PasswordChange,
    SwitchRequest,
)
from jitterscope.tenancy.scopes import INGEST, scopes_of
from jitterscope.tenancy.store import organizations, signing_in

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


@router.post("/auth/login", dependencies=[anyone("callers sign in here"), audited("session.start")])
@bounded(SIGN_IN)
@refuses(401, "Email address or password is incorrect.")
@refuses(403, "The account is not a member of that organization.")
def log_in(body: LoginRequest, request: Request, response: Response) -> Me:
    """Start a session: sets an HttpOnly cookie. Wrong credentials and unknown users look the same."""
    done = login.log_in(
        body.email,
        body.password.get_secret_value(),
        body.organization_id,
        request.headers.get("user-agent", ""),
        address_of(request),
        request.cookies.get(devices.COOKIE, ""),
    )
    set_cookie(response, done.cookie)
    _know_device(response, _session_user(done.principal))
    return _me(done.principal, done.cookie)


def _know_device(response: Response, user_id: int) -> None:
    device = devices.issue(user_id)
    if device is not None:
        response.set_cookie(
            devices.COOKIE,
            device,
            max_age=devices.KEPT_S,
            httponly=True,
            samesite="lax",
            secure=settings().cookie_secure,
            path="/api/v1/auth",
        )


@router.post(
    "/auth/logout",
    status_code=204,
    dependencies=[anyone("ends the session of its own cookie only"), audited("session.end")],
)
@bounded(OPEN)
@refuses(403, "The request came from another site.")
def log_out(request: Request, response: Response) -> None:
    """End the session. Without one, nothing happens."""
    cookie = request.cookies.get(COOKIE)
    if cookie:
        check_origin(request)
        principal = sessions.principal_of(cookie)
        if principal is not None:
            sessions.end(principal, "signed out")
    response.delete_cookie(COOKIE, path="/")


@router.get("/auth/session", dependencies=[anyone("says only whom the caller's own cookie belongs to")])
@bounded(OPEN)
def session_of_browser(request: Request) -> Me | None:
    """Who is signed in with this browser's cookie; null if not signed in, which is not an error here."""
    cookie = request.cookies.get(COOKIE, "")
    principal = sessions.principal_of(cookie) if cookie else None
    return None if principal is None else _me(principal, cookie)


@router.post("/auth/switch", dependencies=[audited("session.start", "session.end")])
@bounded(QUICK)
@refuses(403, "The caller is a token.")
@refuses(404, "The caller is not a member of that organization.")
def switch_organization(body: SwitchRequest, principal: Caller, request: Request, response: Response) -> Me:
    """Switch to another of your organizations, in a new session."""
    cookie = request.cookies.get(COOKIE, "")
    user_id = _session_user(principal)
    if body.organization_id not in [one.id for one in sessions.organizations_of(cookie)]:
        raise not_found("organization", body.organization_id)
    agent, address = request.headers.get("user-agent", ""), address_of(request)
    with db.organization_session(body.organization_id) as session:
        new, switched = sessions.begin(session, body.organization_id, user_id, agent, address)
        sessions.end_within(session, principal, "switched to another organization")
    set_cookie(response, new)
    return _me(switched, new)


@router.post(
    "/auth/invitation",
    dependencies=[anyone("the link is the credential"), not_audited("reads what the link says; changes nothing")],
)
@bounded(OPEN)
@refuses(404, "The link is unknown, expired, or used.")
def read_invitation(body: InvitationToken, request: Request) -> OpenInvitation:
    """What an invitation is for. The token is sent in the body, so that no log contains it."""
    _limit_links(request)
    found = joining.invitation(body.token)
    return OpenInvitation(organization=found.organization_name, email=found.email, role=found.role, known=found.known)


@router.post("/auth/accept", dependencies=[anyone("the link is the credential"), audited("member.join")])
@bounded(SIGN_IN)
@refuses(401, "The request has neither a session nor a password.")
@refuses(403, "The request came from another site.")
@refuses(404, "The link is unknown, expired, or used.")
@refuses(409, "The address has an account or a membership, or the invitation is for another address.")
def accept_invitation(body: AcceptRequest, request: Request, response: Response) -> Me:
    """Accept an invitation: with a password for a new account, without one for the signed-in account. No password is
    checked here."""
    _limit_links(request)
    invited = joining.invitation(body.token)
    cookie = request.cookies.get(COOKIE, "")
    before = sessions.principal_of(cookie) if cookie and body.password is None else None
    agent, address = request.headers.get("user-agent", ""), address_of(request)
    with db.system_session() as session:
        if body.password is not None:
            user_id = joining.accept_as_new(session, invited, body.token, body.name, body.password.get_secret_value())
        elif before is None or before.user_id is None:
            raise unauthenticated("Sign in first to accept an invitation without a password.")
        else:
            check_origin(request)
            user_id = joining.accept_as(session, invited, body.token, cookie, _email(before))
        db.enter_organization(session, invited.organization_id)
        new = sessions.start(session, invited.organization_id, user_id, agent, address)
        principal = sessions.started(session, new)
        audit.record(session, principal, "member.join", f"user {user_id}", {"role": principal.role})
        if before is not None:
            sessions.end_within(session, before, "joined another organization")
    set_cookie(response, new)
    return _me(principal, new)


def _limit_links(request: Request) -> None:
    per_minute(60, "links", network_of(address_of(request))).take("attempts to open links")


def _email(principal: Principal) -> str:
    with db.organization_session(principal.organization_id) as session:
        return organizations.email_of(session, principal.user_id)


@router.post("/me/verification", status_code=202, dependencies=[audited("user.send_verification")])
@bounded(QUICK)
@refuses(403, "The caller is a token.")
@refuses(409, "The address is already verified, or the installation sends no email.")
def send_verification(principal: Caller, request: Request) -> None:
    """Email the caller a link that verifies their address. It is valid for one day."""
    user_id = _session_user(principal)
    if not mail.configured():
        raise Problem(
            409,
            "no-mail",
            "This installation sends no email",
            "No mail server is configured.",
            "Ask the operator of this installation to set JITTERSCOPE_SMTP_HOST.",
        )
    mail_limits.take(principal.organization_id, [_email(principal)])
    with db.organization_session(principal.organization_id) as session:
        started = joining.start_verification(session, request.cookies.get(COOKIE, ""))
        if started is None:
            raise Problem(409, "already-verified", "Already verified", "Your address is verified.", "Nothing to do.")
        email, secret = started
        audit.record(session, principal, "user.send_verification", f"user {user_id}")
        link = f"{settings().public_url}/verify#{secret}"
        # Before the commit: a link whose mail was refused must not exist.
        mail.send(email, "Verify your address for Jitterscope", _VERIFY.format(link=link))


_VERIFY = """To verify that this address is yours, open this link in a browser that is signed in to Jitterscope:

{link}

The link works once and expires after one day. If you did not request this email, ignore it: without your session the
link does nothing.
"""


@router.post("/me/verification/confirm", status_code=204, dependencies=[audited("user.verify_email")])
@bounded(QUICK)
@refuses(403, "The caller is a token.")
@refuses(404, "The link is unknown, expired, or used.")
@refuses(409, "Another verified account has the address.")
def confirm_verification(body: InvitationToken, principal: Caller, request: Request) -> None:
    """Verify the caller's address with the link from the email."""
    user_id = _session_user(principal)
    _limit_links(request)
    email = _email(principal)
    with db.organization_session(principal.organization_id) as session:
        joining.verify_email(session, request.cookies.get(COOKIE, ""), body.token)
        audit.record(session, principal, "user.verify_email", f"user {user_id}", {"email": email})


@router.get("/me")
@bounded(QUICK)
def me(principal: Caller, request: Request) -> Me:
    """The caller, their organization, and their rights."""
    return _me(principal, request.cookies.get(COOKIE, "") if principal.kind == "session" else "")


@router.post("/me/password", status_code=204, dependencies=[audited("user.change_password")])
@bounded(QUICK)
@refuses(401, "The current password is incorrect.")
@refuses(403, "The caller is a token.")
def change_password(body: PasswordChange, principal: Caller) -> None:
    """Change the caller's password. All other sessions of the user end, in every organization."""
    user_id = _session_user(principal)
    attempts = per_minute(settings().login_attempts_per_minute, "password", str(user_id))
    attempts.take("attempts to change the password")
    with db.organization_session(principal.organization_id) as session:
        email = organizations.email_of(session, user_id)
        given = body.current_password.get_secret_value()
        old = login.password_hash(session, email, user_id, principal.organization_id, given)
        new = secrets.hash_password(body.new_password.get_secret_value())
        if not signing_in.set_password(session, user_id, old, new, principal.session_id):
            raise Problem(
                401, "wrong-credentials", "Wrong password", "The current password is incorrect.", "Enter it again."
            )
        attempts.forget()
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


def _me(principal: Principal, cookie: str) -> Me:
    with db.organization_session(principal.organization_id) as session:
        organization = organizations.with_id(session, principal.organization_id)
        user = None if principal.user_id is None else organizations.user(session, principal.user_id)
    role = principal.role
    scopes = [scope for scope in (*scopes_of("admin"), *INGEST) if principal.can(scope)]
    return Me(
        kind=principal.kind,
        actor=principal.actor,
        user_id=principal.user_id,
        email=None if user is None else user.email,
        email_verified=None if user is None else user.verified_at is not None,
        sends_mail=mail.configured(),
        organization=OrganizationRef.model_validate(organization),
        role=role,
        scopes=scopes,
        organizations=[OrganizationInfo.model_validate(one) for one in sessions.organizations_of(cookie)]
        if cookie
        else [],
        warnings=[InstallationWarning(title=proxies.TITLE, detail=proxies.DETAIL, what_to_do=proxies.WHAT_TO_DO)]
        if principal.can("members:write") and proxies.untrusted()
        else [],
    )
