"""What a channel kind is: one module in `notify/channels/` that exports `CHANNEL`. Found by name, listed nowhere."""

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


@dataclass(frozen=True, slots=True)
class Message:
    """What to send: the payload, the key that names this delivery, and the thread it belongs to if one exists."""

    key: str
    payload: Payload
    thread: dict[str, Any] | None
    # Seconds since the epoch, for signatures.
    now_s: int
    # 0: of a channel that is only tried.
    channel_id: int = 0


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One POST. `body` is sent as it is."""

    url: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class MailRequest:
    """One mail for the mail server of the installation. `content` is the whole message, headers included."""

    recipients: tuple[str, ...]
    content: bytes


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """What came back. `headers` have lower-case names; `body` is cut at 64 KiB. Of a mail server: its reply."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a response means. `retry_after_s`: the receiver asked to wait; `thread`: where updates go from now on."""

    outcome: Literal["sent", "retry", "permanent"]
    detail: str | None = None
    retry_after_s: float | None = None
    thread: dict[str, Any] | None = field(default=None)


@dataclass(frozen=True, slots=True)
class ChannelKind(Generic[Config]):
    """A way to tell people.

    `describe` names the target without its secrets. `find_sent` builds a read-only request that shows whether a
    delivery of unknown fate arrived, and `was_sent` reads its answer (None: it cannot tell); kinds without a way
    to ask leave both out and rely on the key. `silent` are actions that the receiver has no notion of. `unavailable`
    says why this installation cannot use the kind. `refresh` has the message that a thread begins with show the
    incident as it is now, without notifying anybody. `closes_alerts`: the receiver keeps an alert open until it is told
    of the end, which it is also while the incident is muted.
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


@cache
def kinds() -> dict[str, ChannelKind[Any]]:
    """Every channel kind by its name."""
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
    """The usual reading of an HTTP status: 2xx sent, 408/425/429/5xx later, everything else never."""
    if 200 <= response.status < 300:
        return Verdict("sent")
    detail = f"HTTP {response.status}: {response.body[:200].decode('utf-8', 'replace')}".rstrip(": ")
    if response.status in (408, 425, 429) or response.status >= 500:
        return Verdict("retry", detail, retry_after_s=retry_after_s(response))
    if 300 <= response.status < 400:
        detail += " (redirects are not followed: give the final URL)"
    return Verdict("permanent", detail)


def retry_after_s(response: HttpResponse) -> float | None:
    """Retry-After in seconds where the receiver gave it so, at most an hour. Dates are ignored: clocks differ."""
    text = response.headers.get("retry-after", "").strip()
    return min(float(text), 3600.0) if text.isdigit() else None
