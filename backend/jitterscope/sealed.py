"""Secrets that the database keeps encrypted: text columns of any table whose names end in `_sealed`."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import inspect, select
from sqlalchemy.orm import Session

from jitterscope.db import Base
from jitterscope.errors import Problem
from jitterscope.kit import secretbox
from jitterscope.kit.discovery import import_named
from jitterscope.kit.secretbox import SecretUnreadable
from jitterscope.settings import settings


@dataclass(frozen=True, slots=True)
class Resealed:
    """How many secrets were re-encrypted with the first key, and how many no key decrypts."""

    done: int = 0
    unreadable: int = 0


def seal(text: str) -> str:
    """Encrypt with the first key of JITTERSCOPE_SECRET_KEY. Raises Problem 503 without one."""
    return secretbox.seal(_keys(), text)


def unseal(sealed: str) -> str:
    """Decrypt a secret. Raises SecretUnreadable, and Problem 503 without a key."""
    return secretbox.unseal(_keys(), sealed)


def reseal(session: Session) -> Resealed:
    """Re-encrypt with the first key what other keys encrypted, so that those can be removed."""
    import_named("jitterscope", "models")
    keys, done, unreadable = _keys(), 0, 0
    for mapper in sorted(Base.registry.mappers, key=lambda one: one.class_.__name__):
        names = [column.key for column in mapper.columns if column.key.endswith("_sealed")]
        if not names:
            continue
        order = inspect(mapper.class_).primary_key
        for row in session.scalars(select(mapper.class_).order_by(*order).with_for_update()):
            for name in names:
                sealed = getattr(row, name)
                if secretbox.is_newest(keys, sealed):
                    continue
                try:
                    setattr(row, name, secretbox.seal(keys, secretbox.unseal(keys, sealed)))
                    done += 1
                except SecretUnreadable:
                    unreadable += 1
    return Resealed(done, unreadable)


def _keys() -> str:
    keys = settings().secret_key.get_secret_value()
    if not keys:
        raise Problem(
            503,
            "no-secret-key",
            "Secrets need a key",
            "JITTERSCOPE_SECRET_KEY is not set.",
            "Set it to 32 random bytes as URL-safe base64 (openssl rand -base64 32 | tr +/ -_), then restart.",
        )
    return keys
