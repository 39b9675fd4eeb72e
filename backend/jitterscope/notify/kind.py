"""Definition of a channel kind: a module in `notify/channels/` that exports `CHANNEL`, found without a list."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from jitterscope.notify.payload import Action, Payload

Config = TypeVar("Config", bound=BaseModel)
# The validation context of a configuration that a user saves. A stored one is validated without it.
AT_SAVE = "at save"
# Characters. A config is read with every message of its channel, and all of them for the list of channels.
LONGEST_URL = 2000
LONGEST_SECRET = 500


@dataclass(frozen=True, slots=True)
class Message:
    """What to send: the payload, the key that identifies this delivery, and its thread if one exists."""

    key: str
    payload: Payload
    thread: dict[str, Any] | None
    # Seconds since the epoch, for signatures.
    now_s: int
    # 0: a test of a channel.
    channel_id: int = 0
    # Above 0: a summary of this many messages that were held back, of which the payload is the first.
    held_back: int = 0


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One POST. `body` is sent unchanged."""

    url: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class MailRequest:
    """One email for the installation's mail server. `content` is the whole message, including headers."""

    recipients: tuple[str, ...]
    content: bytes


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The answer. `headers` have lower-case names; `body` is cut at 64 KiB. For a mail server, its reply."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a response means. `retry_after_s`: the requested wait; `thread`: where updates go from now on."""

    outcome: Literal["sent", "retry", "permanent"]
    detail: str | None = None
    retry_after_s: float | None = None
    thread: dict[str, Any] | None = field(default=None)


@dataclass(frozen=True, slots=True)
class ChannelKind(Generic[Config]):
    """A way to notify people.

    `describe` names the target without its secrets. `find_sent` builds a read-only request that shows whether a
    delivery of unknown outcome arrived, and `was_sent` reads its answer (None: inconclusive); kinds that cannot ask
    leave both out and rely on the key. `silent` are actions that the receiver cannot express. `unavailable` says why
    this installation cannot use the kind. `refresh` updates the first message of a thread to the incident's current
    state without notifying anyone. `closes_alerts`: the receiver keeps an alert open until it is told of the end, which
    is therefore sent even while the incident is muted. `most_per_hour`: how many messages an organization may send in
    an hour, because they leave through a server of this installation; the kind then also writes summaries.
    """

    kind: str
    title: str
    config_model: type[Config]
    describe: Callable[[Config], str]
    build: Callable[[Config, Message], HttpRequest | MailRequest]
    judge: Callable[[HttpResponse], Verdict]
    find_sent: Callable[[Config, Message, int], HttpRequest | None] | None = None
    was_sent: Callable[[Config, HttpResponse, str], Verdict | None] | None = None
    silent: frozenset[Action] = frozenset()
    unavailable: Callable[[], str | None] = lambda: None
    refresh: Callable[[Config, Message], HttpRequest | None] | None = None
    closes_alerts: bool = False
    most_per_hour: Callable[[], int] | None = None


@cache
def kinds() -> dict[str, ChannelKind[Any]]:
    """Every channel kind by name."""
    package = importlib.import_module("jitterscope.notify.channels")
    found: dict[str, ChannelKind[Any]] = {}
    for info in pkgutil.iter_modules(package.__path__):
        kind = importlib.import_module(f"{package.__name__}.{info.name}").CHANNEL
        found[kind.kind] = kind
    return found


def post_json(url: str, content: object, headers: dict[str, str]) -> HttpRequest:
    """A POST of compact JSON."""
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    return HttpRequest(url, {"Content-Type": "application/json; charset=utf-8"} | headers, body)


def judge_status(response: HttpResponse) -> Verdict:
    """The usual meaning of an HTTP status: 2xx sent, 408/425/429/5xx retry, everything else permanent failure."""
    if 200 <= response.status < 300:
        return Verdict("sent")
    detail = f"HTTP {response.status}: {response.body[:200].decode('utf-8', 'replace')}".rstrip(": ")
    if response.status in (408, 425, 429) or response.status >= 500:
        return Verdict("retry", detail, retry_after_s=retry_after_s(response))
    if 300 <= response.status < 400:
        detail += " (redirects are not followed: give the final URL)"
    return Verdict("permanent", detail)


def retry_after_s(response: HttpResponse) -> float | None:
    """Retry-After in seconds if the receiver sent a number, at most an hour. Dates are ignored: clocks differ."""
    text = response.headers.get("retry-after", "").strip()
    return min(float(text), 3600.0) if text.isdigit() else None
