"""What a courier carries: a kind's request with the limits of this service."""

from __future__ import annotations

import certifi

from jitterscope.notify.kind import HttpRequest, MailRequest
from jitterscope.notify.smtp_wire import Mail
from jitterscope.notify.wire import Post
from jitterscope.settings import settings


def outgoing(request: HttpRequest | MailRequest) -> Post | Mail:
    """What a courier carries: the request with this service's limits and, for email, its mail server."""
    if isinstance(request, HttpRequest):
        return post_of(request)
    given = settings()
    return Mail(
        host=given.smtp_host,
        port=given.smtp_port,
        security=given.smtp_security,
        user=given.smtp_user,
        password=given.smtp_password.get_secret_value(),
        sender=given.mail_from,
        recipients=request.recipients,
        content=request.content,
        timeout_s=given.notify_timeout_s,
        ca_file=certifi.where(),
    )


def post_of(request: HttpRequest) -> Post:
    """The request with this service's limits."""
    return Post(
        url=request.url,
        headers=request.headers,
        body=request.body,
        timeout_s=settings().notify_timeout_s,
        allow_private=settings().notify_allow_private_targets,
        ca_file=certifi.where(),
        proxy=settings().notify_proxy_url.get_secret_value() or None,
    )
