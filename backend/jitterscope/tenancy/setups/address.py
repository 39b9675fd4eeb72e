"""The URL that goes into commands for other machines, which the settings of a new installation do not know."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from fastapi import Request

from jitterscope.settings import settings

ORIGIN = r"^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$"


def server_for(request: Request, origin: str | None = None) -> str:
    """The public URL, or if that is a loopback address, the one by which the caller reached this service.

    `origin` is that URL as the caller knows it: a proxy can hide it. Only the caller may see the result, because any
    client can make it up; mail and notifications use the public URL.
    """
    public = settings().public_url.rstrip("/")
    if not is_loopback(public):
        return public
    reached = origin or str(request.base_url).rstrip("/")
    return reached if re.fullmatch(ORIGIN, reached) else public


def is_loopback(url: str) -> bool:
    """Whether only the machine itself reaches the URL."""
    try:
        host = urlsplit(url).hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        address = ipaddress.ip_address(host)
    except ValueError:  # a name, or no host at all
        return False
    return address.is_loopback or address.is_unspecified


def only_here(server: str) -> str | None:
    """Why other machines cannot reach the URL, and how to change it."""
    if not is_loopback(server):
        return None
    return (
        f"Other machines cannot reach {server}: it is a loopback address. Set JITTERSCOPE_PUBLIC_URL (publicUrl in the "
        "chart) to the URL by which they reach this service. Compose listens on other addresses only with "
        "JITTERSCOPE_LISTEN. What `make up` starts serves only its own machine."
    )
