"""Sends email by SMTP, if it is configured."""

from __future__ import annotations

import smtplib
import ssl
from email.message import EmailMessage

import structlog

from jitterscope.errors import Problem
from jitterscope.settings import Settings, settings

log = structlog.get_logger(__name__)
_TIMEOUT_S = 10.0


def configured() -> bool:
    """Whether email can be sent."""
    return settings().smtp_host != ""


def send(to: str, subject: str, text: str) -> None:
    """Hand a message to the mail server. Raises Problem 503 if the server does not accept it."""
    given = settings()
    message = EmailMessage()
    try:
        message["From"], message["To"], message["Subject"] = given.mail_from, to, subject
        message.set_content(text)
        with _connect(given) as server:
            if given.smtp_user:
                server.login(given.smtp_user, given.smtp_password.get_secret_value())
            server.send_message(message)
    except (smtplib.SMTPException, OSError, ValueError) as error:
        log.warning("mail_not_sent", server=given.smtp_host, error=str(error)[:300])
        raise Problem(
            503,
            "mail-not-sent",
            "Email not sent",
            "The mail server of this installation did not accept the email.",
            "Check the address and try again. The log of the service says what the mail server answered.",
            headers={"Retry-After": "30"},
        ) from error


def _connect(given: Settings) -> smtplib.SMTP:
    if given.smtp_security == "tls":
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(given.smtp_host, given.smtp_port, timeout=_TIMEOUT_S, context=context)
    server = smtplib.SMTP(given.smtp_host, given.smtp_port, timeout=_TIMEOUT_S)
    if given.smtp_security == "starttls":
        try:
            server.starttls(context=ssl.create_default_context())
        except BaseException:
            server.close()
            raise
    return server
