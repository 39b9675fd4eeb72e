"""Encryption of small secrets at rest (Fernet: AES-128-CBC with HMAC-SHA256)."""

from __future__ import annotations

from cryptography.fernet import Fernet, InvalidToken


class SecretUnreadable(Exception):
    """The stored text was not sealed with this key."""


def new_key() -> str:
    """A fresh key, URL-safe base64."""
    return Fernet.generate_key().decode()


def seal(key: str, plaintext: str) -> str:
    """Encrypted text, safe to store."""
    return Fernet(key).encrypt(plaintext.encode()).decode()


def unseal(key: str, sealed: str) -> str:
    """The text that was sealed. Raises SecretUnreadable for another key or damaged text."""
    try:
        return Fernet(key).decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise SecretUnreadable("the secret was sealed with another key; set JITTERSCOPE_SECRET_KEY back") from error
