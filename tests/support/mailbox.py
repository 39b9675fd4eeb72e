"""A real SMTP server on loopback that keeps what it gets."""

from __future__ import annotations

import re
import ssl
from email import message_from_bytes, policy
from email.message import EmailMessage
from types import TracebackType
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from jitterscope.devstack.ports import free_port


def _signs_in(_server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, data: Any) -> AuthResult:
    # Not handled: the server itself says that it is wrong.
    return AuthResult(success=data == LoginPassword(b"jitterscope", b"secret"), handled=False)


class Mailbox:
    """Start it with `with`.

    `refuse` makes it answer every mail with an error; `unknown` are addresses that it does not have. With `tls` it
    accepts mails only from clients that begin TLS and sign in as "jitterscope" with "secret".
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.mails: list[EmailMessage] = []
        self.refuse = False
        self.unknown: set[str] = set()
        self.port = free_port()
        guarded: dict[str, Any] = {}
        if tls is not None:
            guarded = {
                "tls_context": tls, "require_starttls": True, "authenticator": _signs_in, "auth_required": True,
            }  # fmt: skip
        self._controller = Controller(self, hostname="127.0.0.1", port=self.port, **guarded)

    async def handle_RCPT(
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address in self.unknown:
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 taken"

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:
        if self.refuse:
            return "550 no such mailbox"
        mail = message_from_bytes(envelope.original_content or b"", policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        return "250 taken"

    def settings(self) -> dict[str, object]:
        """Settings with which the application sends its mails here."""
        return {"smtp_host": "127.0.0.1", "smtp_port": self.port, "smtp_security": "none"}

    def link(self) -> tuple[str, str]:
        """(recipient, secret of the link) of the newest mail."""
        mail = self.mails[-1]
        found = re.search(r"/(?:accept|verify)#(\S+)", mail.get_content())
        assert found is not None
        return str(mail["To"]), found[1]

    def __enter__(self) -> Mailbox:
        self._controller.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._controller.stop()
