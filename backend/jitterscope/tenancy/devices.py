"""Browsers that have signed in to an account before. They have their own limit, so others' guesses lock nobody out.

After OWASP's "Slow Down Online Guessing Attacks with Device Cookies".
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

from jitterscope.settings import settings

COOKIE = "jitterscope_device"
KEPT_S = 180 * 24 * 3600


def issue(email: str) -> str | None:
    """A cookie for a browser that has just signed in; None if the installation has no key to sign it with."""
    id = secrets.token_urlsafe(12)
    signature = _signature(id, email)
    return None if signature is None else f"{id}.{signature}"


def known(cookie: str, email: str) -> str | None:
    """The device id in a cookie; None if the cookie belongs to another account or is not valid."""
    id, _, given = cookie.partition(".")
    signature = _signature(id, email)
    return id if signature is not None and hmac.compare_digest(signature.encode(), given.encode()) else None


def _signature(id: str, email: str) -> str | None:
    key = settings().secret_key.get_secret_value()
    if not key:
        return None
    return hmac.new(key.encode(), f"device\n{id}\n{email}".encode(), hashlib.sha256).hexdigest()
