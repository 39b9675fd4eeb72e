"""Random secrets that are shown once and kept as hashes, and password hashes."""

from __future__ import annotations

import hashlib
import secrets

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

MIN_PASSWORD_LENGTH = 10
# RFC 9106's second recommended option, with less memory: 19 MiB, 2 passes (OWASP's minimum), about 30 ms.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)
# Verified for unknown users, so that the answer takes as long as for known ones.
_NOBODY = _HASHER.hash(secrets.token_hex(16))


def new_secret(prefix: str = "") -> str:
    """256 random bits after a prefix that names the kind ("jsa_")."""
    return prefix + secrets.token_urlsafe(32)


def digest(secret: str) -> bytes:
    """SHA-256: enough for secrets that are random already, and fast enough for every request."""
    return hashlib.sha256(secret.encode()).digest()


def hash_password(password: str) -> str:
    """argon2id."""
    return _HASHER.hash(password)


def verify_password(stored: str | None, password: str) -> bool:
    """Whether the password fits; takes the same time where there is no stored hash (None: unknown user)."""
    try:
        return _HASHER.verify(stored or _NOBODY, password) and stored is not None
    except (VerifyMismatchError, InvalidHashError):
        return False
