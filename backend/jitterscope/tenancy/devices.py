"""Browsers that have signed in to an account before. They have their own limit, so others' guesses lock nobody out.

After OWASP's "Slow Down Online Guessing Attacks with Device Cookies". A cookie belongs to an account, not to its
address: another organization can have its own account of the same address.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

from jitterscope.kit import secretbox
from jitterscope.settings import settings

COOKIE = "jitterscope_device"
KEPT_S = 180 * 24 * 3600


def issue(user_id: int) -> str | None:
    """A cookie for a browser that has just signed in; None if the installation has no key to sign it with."""
    id = secrets.token_urlsafe(12)
    signatures = _signatures(id, user_id)
    return f"{id}.{signatures[0]}" if signatures else None


def known(cookie: str, user_id: int) -> str | None:
    """The device id in a cookie; None if the cookie belongs to another account or is not valid."""
    id, _, given = cookie.partition(".")
    fits = [hmac.compare_digest(one.encode(), given.encode()) for one in _signatures(id, user_id)]
    return id if any(fits) else None


def _signatures(id: str, user_id: int) -> list[str]:
    """One by each key, the newest first: cookies stay valid while keys are rotated."""
    text = f"device\n{id}\nuser {user_id}".encode()
    keys = secretbox.keys_of(settings().secret_key.get_secret_value())
    return [hmac.new(key.encode(), text, hashlib.sha256).hexdigest() for key in keys]
