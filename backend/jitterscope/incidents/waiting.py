"""Which resources have a diagnosis waiting in the queue, and which triggers explain no harm time and again.

Where many servers are in trouble at once, a worker is slower than their triggers. One that waits will read the newest
data anyway: a second one behind it would only keep the first look at another server waiting. And a server whose
answers always take over 20 ms, as its upstream is far away, triggers all the time: the same reason is heard less often
the longer nothing comes of it. Another reason is heard at once.
"""

from __future__ import annotations

from jitterscope.cache import valkey

# Held back after the first look in vain, twice as long after each other one.
FIRST_HOLD_MS = 700
LONGEST_HOLD_MS = 5_000
FORGET_S = 60
# A message that was lost (a worker died) must not keep the next trigger from being heard.
LOST_AFTER_MS = 10_000


def enter(organization_id: int, resource_id: int) -> bool:
    """Note that one is queued. False where one waits already. Raises ValkeyError."""
    return bool(valkey().set(_name(organization_id, resource_id), "1", nx=True, px=LOST_AFTER_MS))


def leave(organization_id: int, resource_id: int) -> None:
    """Before a diagnosis reads its data: what triggers from now on is worth another one. Raises ValkeyError."""
    valkey().delete(_name(organization_id, resource_id))


def held(organization_id: int, resource_id: int, reason: str) -> bool:
    """Whether this trigger is not worth a look yet. Raises ValkeyError."""
    return bool(valkey().exists(f"{_name(organization_id, resource_id)}:{reason}:held"))


def looked(organization_id: int, resource_id: int, reason: str, *, harm: bool) -> None:
    """Note whether a look found harm. Raises ValkeyError."""
    client, name = valkey(), f"{_name(organization_id, resource_id)}:{reason}"
    if harm:
        client.delete(f"{name}:held", f"{name}:vain")
        return
    vain = int(str(client.incr(f"{name}:vain")))
    client.expire(f"{name}:vain", FORGET_S)
    client.set(f"{name}:held", "1", px=min(FIRST_HOLD_MS << min(vain - 1, 8), LONGEST_HOLD_MS))


def _name(organization_id: int, resource_id: int) -> str:
    return f"jitterscope:diagnosis-waits:{organization_id}:{resource_id}"
