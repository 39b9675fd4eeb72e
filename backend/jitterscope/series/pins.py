"""Windows that retention must keep, supplied by the domains that refer to them (incidents) to avoid importing those."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.orm import Session


@dataclass(frozen=True, slots=True)
class PinnedWindow:
    """Keep everything of these resources in [from_us, to_us)."""

    resource_ids: tuple[int, ...]
    from_us: int
    to_us: int


PinProvider = Callable[[Session], list[PinnedWindow]]

_providers: list[PinProvider] = []


def register_pins(provider: PinProvider) -> PinProvider:
    """Add a provider; call it at import time of the domain's tasks module. Usable as a decorator."""
    if provider not in _providers:
        _providers.append(provider)
    return provider


def pinned_windows(session: Session) -> list[PinnedWindow]:
    """What all providers want kept in the session's organization."""
    return [window for provider in _providers for window in provider(session)]
