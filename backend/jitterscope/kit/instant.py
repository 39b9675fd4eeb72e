"""Points in time as users write them."""

from __future__ import annotations

from datetime import UTC, datetime

_LATEST_US = 32_503_680_000_000_000  # the year 3000


class BadInstant(ValueError):
    """The text is not a valid time."""


def parse_us(text: str) -> int:
    """Parse RFC 3339 with a time zone, or digits of µs since the epoch, to µs since the epoch. Raises BadInstant."""
    if text.isascii() and text.isdigit():
        us = int(text)
    else:
        try:
            # An unescaped + in a query string arrives as a space.
            time = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
        except ValueError as error:
            raise BadInstant(f"{text!r} is neither RFC 3339 nor µs since the epoch") from error
        if time.tzinfo is None:
            raise BadInstant(f"{text!r} has no time zone; add Z for UTC")
        us = round(time.timestamp() * 1_000_000)
    if not 0 <= us <= _LATEST_US:
        raise BadInstant(f"{text!r} is out of range")
    return us


def time_of(us: int) -> datetime:
    """µs since the epoch as an aware datetime."""
    seconds, rest = divmod(us, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest)


def us_of(time: datetime) -> int:
    """An aware datetime as µs since the epoch."""
    return int(time.replace(microsecond=0).timestamp()) * 1_000_000 + time.microsecond
