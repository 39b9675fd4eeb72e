"""Lets pods reach a program that listens on this machine's loopback."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from labs.kubernetes.layout import HOST_ADDRESS

_PART_BYTES = 1 << 16


@contextmanager
def forwarded(port: int) -> Iterator[str]:
    """The URL by which pods reach 127.0.0.1:`port`, on the node's link only."""
    with socket.create_server((HOST_ADDRESS, 0)) as server:
        threading.Thread(target=_accept, args=(server, port), daemon=True).start()
        try:
            yield f"http://{HOST_ADDRESS}:{server.getsockname()[1]}"
        finally:
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)  # ends accept()


def _accept(server: socket.socket, port: int) -> None:
    while True:
        try:
            asking, _ = server.accept()
        except OSError:
            return  # closed
        threading.Thread(target=_serve, args=(asking, port), daemon=True).start()


def _serve(asking: socket.socket, port: int) -> None:
    with asking, suppress(OSError), socket.create_connection(("127.0.0.1", port)) as asked:
        answers = threading.Thread(target=_pass_on, args=(asked, asking), daemon=True)
        answers.start()
        _pass_on(asking, asked)
        answers.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while part := source.recv(_PART_BYTES):
            target.sendall(part)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
