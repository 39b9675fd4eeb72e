"""Email through the installation's mail server. Messages about one incident form one conversation."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from jitterscope import mail
from jitterscope.notify import wording
from jitterscope.notify.kind import ChannelKind, HttpResponse, MailRequest, Message, Verdict
from jitterscope.settings import settings

_MOST_RECIPIENTS = 20
# Catches typos; only the mail server knows whether the mailbox exists.
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
_SUBJECT_CHARACTERS = 200


class EmailConfig(BaseModel):
    """Who gets the email."""

    model_config = ConfigDict(extra="forbid")

    to: str = Field(description="Addresses, separated by commas", min_length=3, max_length=4000)

    @field_validator("to")
    @classmethod
    def _to(cls, value: str) -> str:
        found = recipients(value)
        wrong = [one for one in found if _ADDRESS.fullmatch(one) is None or len(one) > 254]
        if wrong or not found:
            raise ValueError(f"not an email address: {wrong[0][:100]}" if wrong else "give an email address")
        if len(found) > _MOST_RECIPIENTS:
            raise ValueError(f"at most {_MOST_RECIPIENTS} addresses: give a mailing list for more")
        return ", ".join(found)


def recipients(text: str) -> tuple[str, ...]:
    """The addresses, without duplicates."""
    return tuple(dict.fromkeys(one.strip() for one in text.split(",") if one.strip()))


def _build(config: EmailConfig, message: Message) -> MailRequest:
    payload = message.payload
    host = urlsplit(settings().public_url).hostname or "localhost"
    thread = f"<{wording.fingerprint(wording.incident_key(payload, message.key))}@{host}>"
    letter = EmailMessage(policy=SMTP)
    letter["From"] = settings().mail_from
    letter["To"] = config.to
    # A header must be one line.
    subject, text = _summary(message) if message.held_back else (wording.headline(payload), wording.plain(payload))
    letter["Subject"] = wording.shortened(" ".join(subject.split()), _SUBJECT_CHARACTERS)
    letter["Date"] = format_datetime(datetime.fromtimestamp(message.now_s, UTC))
    # The same for every attempt: mail programs show a repeat once.
    letter["Message-ID"] = f"<{message.key}@{host}>"
    letter["References"] = letter["In-Reply-To"] = thread
    letter["Auto-Submitted"] = "auto-generated"
    letter["X-Jitterscope-Event"] = payload.type
    letter.set_content(f"{text}\n\n{payload.incident.url}\n")
    return MailRequest(recipients(config.to), letter.as_bytes())


def _summary(message: Message) -> tuple[str, str]:
    """Subject and text of an email in place of those that were held back."""
    given, held = settings(), message.held_back
    messages = "1 message was" if held == 1 else f"{held:,} messages were"
    return f"{messages} not sent: too many emails in an hour", (
        f"Your organization may send {given.notify_emails_per_hour} emails about incidents in an hour. {messages} "
        f"above that and not sent by this channel.\n\nAll incidents: {given.public_url}/incidents?state=all\n\n"
        f"The first one that was not sent:\n\n{wording.plain(message.payload)}"
    )


def _judge(response: HttpResponse) -> Verdict:
    """RFC 5321: 2xx accepted, 4xx retry, 5xx permanent failure."""
    said = response.body[:300].decode("utf-8", "replace")
    if 200 <= response.status < 300:
        return Verdict("sent", said if "; refused " in said else None)
    return Verdict("retry" if response.status < 500 else "permanent", f"The mail server: {response.status} {said}")


def _unavailable() -> str | None:
    return None if mail.configured() else "No mail server is set up (JITTERSCOPE_SMTP_HOST)."


CHANNEL = ChannelKind(
    kind="email",
    title="Email",
    config_model=EmailConfig,
    describe=lambda config: config.to,
    build=_build,
    judge=_judge,
    unavailable=_unavailable,
    most_per_hour=lambda: settings().notify_emails_per_hour,
)
