"""Free TCP ports on loopback."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator

# Below those that Linux gives to connections and to whoever asks for any port (net.ipv4.ip_local_port_range): such a
# port could be taken before the server that it was chosen for listens there.
_FIRST, _COUNT = 15_000, 15_000
_TRIES = 100


def candidates() -> Iterator[int]:
    """Ports to try, at random: two processes that choose at the same time hardly ever choose the same."""
    for _ in range(_TRIES):
        yield _FIRST + secrets.randbelow(_COUNT)


def free_port() -> int:
    """A port that was free a moment ago. Raises RuntimeError if none is."""
    for port in candidates():
        if is_free(port):
            return port
    raise RuntimeError(f"No port of 127.0.0.1 from {_FIRST} to {_FIRST + _COUNT - 1} seems to be free.")


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
