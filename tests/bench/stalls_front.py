"""The service that `stalls.py` stalls: each request takes a lock, writes a line to a file, and calls a Valkey server.

GET /hold?MS holds the lock for that long. Arguments: port, file, port of the Valkey server.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_LOCK = threading.Lock()
_MINE = threading.local()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        with _LOCK:
            if self.path.startswith("/hold?"):
                time.sleep(float(self.path.partition("?")[2]) / 1000)
        os.write(_FILE, b"request\n")
        os.lseek(_FILE, 0, os.SEEK_SET)
        peer: socket.socket | None = getattr(_MINE, "peer", None)
        if peer is None:
            peer = _MINE.peer = socket.create_connection(("127.0.0.1", int(sys.argv[3])))
        peer.sendall(b"PING\r\n")
        peer.recv(64)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format: str, *args: object) -> None:
        pass


if __name__ == "__main__":
    _FILE = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), _Handler)
    server.daemon_threads = True
    server.serve_forever()
