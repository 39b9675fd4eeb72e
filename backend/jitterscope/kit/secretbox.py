"""Encryption of small secrets at rest (Fernet: AES-128-CBC with HMAC-SHA256).

`keys` is one key, or several separated by commas: the first one seals, all of them unseal.
"""

from __future__ import annotations

from cryptography.fernet import Fernet, InvalidToken, MultiFernet


class SecretUnreadable(Exception):
    """The stored text was not sealed with any of these keys."""


def new_key() -> str:
    """A fresh key, URL-safe base64."""
    return Fernet.generate_key().decode()


def seal(keys: str, plaintext: str) -> str:
    """Encrypt a text for storage."""
    return _boxes(keys)[0].encrypt(plaintext.encode()).decode()


def unseal(keys: str, sealed: str) -> str:
    """Decrypt a sealed text. Raises SecretUnreadable for other keys or damaged text."""
    try:
        return MultiFernet(_boxes(keys)).decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise SecretUnreadable(
            "the secret was encrypted with another key; append that key to JITTERSCOPE_SECRET_KEY after a comma"
        ) from error


def is_newest(keys: str, sealed: str) -> bool:
    """Whether the first key sealed the text, so that the other keys are not needed for it."""
    try:
        _boxes(keys)[0].decrypt(sealed.encode())
    except InvalidToken:
        return False
    return True


def keys_of(keys: str) -> list[str]:
    """The single keys, the newest first."""
    return [key.strip() for key in keys.split(",") if key.strip()]


def _boxes(keys: str) -> list[Fernet]:
    return [Fernet(key) for key in keys_of(keys)]
