"""Whether the callers of open streams may still listen: asked once a second for one credential, not for each event.

A stream asks before it sends: an event is sent only if a check that began after the event arrived allows it. So nothing
reaches a caller after its access ended, and many events or streams of one credential cost one look-up.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass

# At most one check of a credential begins in this time.
EVERY_S = 1.0
_MOST_KEPT = 1000


@dataclass(frozen=True, slots=True)
class _Check:
    began_s: float
    answer: asyncio.Task[bool]


class Access:
    """The checks of one process. Used only from its event loop."""

    def __init__(self) -> None:
        self._checks: dict[bytes, _Check] = {}

    async def allowed(self, credential: str, since_s: float, check: Callable[[], bool]) -> bool:
        """What a check says that began at `since_s` or later, on the event loop's clock. `check` runs in a thread."""
        key = hashlib.sha256(credential.encode()).digest()
        clock = asyncio.get_running_loop().time
        while True:
            found = self._checks.get(key)
            if found is not None and found.began_s >= since_s:
                return await asyncio.shield(found.answer)
            wait_s = 0.0 if found is None else found.began_s + EVERY_S - clock()
            if wait_s <= 0:
                self._forget(clock() - EVERY_S)
                self._checks[key] = _Check(clock(), asyncio.create_task(asyncio.to_thread(check)))
            else:
                await asyncio.sleep(wait_s)

    def _forget(self, before_s: float) -> None:
        if len(self._checks) > _MOST_KEPT:
            self._checks = {key: one for key, one in self._checks.items() if one.began_s > before_s}
