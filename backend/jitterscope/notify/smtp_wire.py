"""Sends one email to a mail server over its own connection. The server is the operator's, so any address is allowed.

Standard library only, like wire.py. `on_writing` is called before the text leaves: until then the server has nothing to
deliver, whatever fails.
"""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from jitterscope.notify.wire import PostFailed


@dataclass(frozen=True)
class Mail:
    """What to send and through which server. `timeout_s` applies to each step.

    `ca_file` is trusted in addition to the system's certificates.
    """

    host: str
    port: int
    security: Literal["starttls", "tls", "none"]
    user: str
    password: str = field(repr=False)
    sender: str
    recipients: tuple[str, ...]
    content: bytes
    timeout_s: float = 15.0
    ca_file: str | None = None


def hand_over(mail: Mail, on_writing: Callable[[], None] = lambda: None) -> tuple[int, dict[str, str], bytes]:
    """The server's reply to the text, or to what it refused earlier: code, no headers, words. Raises PostFailed.

    If it accepts only some of the recipients, those get the mail, and the words name the others.
    """
    try:
        server = _connect(mail)
    except (OSError, smtplib.SMTPException) as error:
        raise PostFailed("not_sent", f"cannot use the mail server {mail.host}:{mail.port}: {_said(error)}") from error
    writing = False
    try:
        code, said = server.mail(mail.sender)
        if code >= 400:
            return code, {}, said
        refused = [(one, *server.rcpt(one)) for one in mail.recipients]
        taken = [one for one, code, _ in refused if code < 400]
        refused = [(one, code, said) for one, code, said in refused if code >= 400]
        if not taken:
            return refused[0][1], {}, refused[0][2]
        writing = True
        on_writing()
        code, said = server.data(mail.content)
        missing = b"".join(b"; refused " + one.encode() + b": " + why for one, _, why in refused)
        return code, {}, said + missing
    except smtplib.SMTPDataError as error:  # it refused the text
        return error.smtp_code, {}, _bytes(error.smtp_error)
    except (OSError, smtplib.SMTPException) as error:
        raise PostFailed("unknown" if writing else "not_sent", f"no reply: {_said(error)}") from error
    finally:
        _leave(server)


def _connect(mail: Mail) -> smtplib.SMTP:
    server: smtplib.SMTP
    if mail.security == "tls":
        server = smtplib.SMTP_SSL(mail.host, mail.port, timeout=mail.timeout_s, context=_context(mail))
    else:
        server = smtplib.SMTP(mail.host, mail.port, timeout=mail.timeout_s)
    try:
        if mail.security == "starttls":
            server.starttls(context=_context(mail))
        if mail.user:
            server.login(mail.user, mail.password)
        server.ehlo_or_helo_if_needed()
    except BaseException:
        server.close()
        raise
    return server


def _context(mail: Mail) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if mail.ca_file is not None:
        context.load_verify_locations(mail.ca_file)
    return context


def _leave(server: smtplib.SMTP) -> None:
    """Close the session; only the earlier reply counts, not how this ends."""
    try:
        server.quit()
    except (OSError, smtplib.SMTPException):
        server.close()


def _bytes(words: bytes | str) -> bytes:
    return words if isinstance(words, bytes) else words.encode()


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300]
