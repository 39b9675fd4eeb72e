"""Random secrets, shown once and stored as hashes, and password hashes."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets

from argon2 import PasswordHasher
from argon2.low_level import Type, hash_secret

MIN_PASSWORD_LENGTH = 10
_HASH_BYTES = 32
# OWASP's minimum for argon2id: 19 MiB, 2 passes; about 20 ms.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1, hash_len=_HASH_BYTES)
# "$argon2id$v=19$m=…,t=…,p=…$SALT": everything in a stored hash except the hash itself.
_SALT = re.compile(r"\$argon2id\$v=(\d+)\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)")


def new_secret(prefix: str = "") -> str:
    """256 random bits after a prefix that names the kind ("jsa_")."""
    return prefix + secrets.token_urlsafe(32)


def digest(secret: str) -> bytes:
    """SHA-256: enough for secrets that are random already, and fast enough for every request."""
    return hashlib.sha256(secret.encode()).digest()


def hash_password(password: str) -> str:
    """argon2id with a fresh salt."""
    return _HASHER.hash(password)


# Used for unknown users, so that the answer takes as long as for known ones.
_NOBODY = hash_password(secrets.token_hex(16)).rpartition("$")[0]


def hash_with(salt: str | None, password: str) -> str:
    """The hash of a password with the parameters and salt of a stored one (its text up to the last "$")."""
    match = _SALT.fullmatch(salt or _NOBODY)
    if match is None:
        raise ValueError("the stored password hash is not argon2id")
    version, memory_kib, passes, lanes = (int(match[group]) for group in range(1, 5))
    encoded = match[5]
    hashed = hash_secret(
        password.encode(),
        base64.b64decode(encoded + "=" * (-len(encoded) % 4)),
        time_cost=passes,
        memory_cost=memory_kib,
        parallelism=lanes,
        hash_len=_HASH_BYTES,
        type=Type.ID,
        version=version,
    )
    return hashed.decode()
