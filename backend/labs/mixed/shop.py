"""A threaded HTTP service that queries a Valkey and a MariaDB for each request.

Stand-alone: python shop.py --valkey=PORT --mariadb=PORT --listen=ADDRESS:PORT.
"""

from __future__ import annotations

import gc
import socket
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_MINE = threading.local()  # a thread serves one connection: each has its own to Valkey and MariaDB
_TABLE = "shop.items"
ROWS = 2_000


class Valkey:
    """A connection with one command at a time."""

    def __init__(self, port: int) -> None:
        self._file = _connected(port).makefile("rwb")

    def ask(self, *words: bytes) -> bytes:
        """The answer to a command that returns a one-line string, a number, or nothing."""
        parts = [b"*%d\r\n" % len(words), *(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)]
        self._file.write(b"".join(parts))
        self._file.flush()
        line: bytes = self._file.readline()
        if line.startswith(b"$") and not line.startswith(b"$-"):
            line = self._file.read(int(line[1:]) + 2)
        if line.startswith(b"-") or not line:
            raise ConnectionError(f"Valkey says {line!r}")
        return line


class MariaDb:
    """A connection with one statement at a time; https://mariadb.com/kb/en/clientserver-protocol/."""

    _PROTOCOL_41, _SECURE = 0x200, 0x8000

    def __init__(self, port: int) -> None:
        self._file = _connected(port).makefile("rwb")
        self._packet()  # the server greets first
        flags = struct.pack("<IIB", self._PROTOCOL_41 | self._SECURE, 1 << 24, 33)
        self._send(1, flags + bytes(23) + b"root\0\0")
        self._packet()

    def ask(self, statement: str) -> int:
        """Run a statement; returns the number of rows."""
        self._send(0, b"\x03" + statement.encode())
        if self._packet()[0] == 0:
            return 0
        self._rest()
        return self._rest()

    def _send(self, sequence: int, body: bytes) -> None:
        self._file.write(struct.pack("<I", len(body) | sequence << 24) + body)
        self._file.flush()

    def _packet(self) -> bytes:
        (head,) = struct.unpack("<I", self._file.read(4))
        body: bytes = self._file.read(head & 0xFFFFFF)
        if body[0] == 0xFF:
            raise ConnectionError(f"MariaDB says {body[3:]!r}")
        return body

    def _rest(self) -> int:
        """Packets up to the one that ends a part of an answer."""
        count = 0
        while (packet := self._packet())[0] != 0xFE or len(packet) > 5:
            count += 1
        return count


def _connected(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def fill(port: int) -> None:
    """Create and fill the table of prices."""
    database = MariaDb(port)
    database.ask("CREATE DATABASE shop")
    database.ask(f"CREATE TABLE {_TABLE} (id INT PRIMARY KEY, price INT) ENGINE=InnoDB")
    database.ask(f"INSERT INTO {_TABLE} VALUES " + ",".join(f"({n},{n % 97})" for n in range(ROWS)))  # noqa: S608


class Handler(BaseHTTPRequestHandler):
    """Read a basket, price it, and store it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    valkey = mariadb = served = 0

    def do_GET(self) -> None:
        if not hasattr(_MINE, "valkey"):
            _MINE.valkey, _MINE.mariadb = Valkey(self.valkey), MariaDb(self.mariadb)
        Handler.served += 1
        key, first = b"basket:%d" % (self.served % 500), self.served * 7 % ROWS
        _MINE.valkey.ask(b"GET", key)
        _MINE.mariadb.ask(f"SELECT id, price FROM {_TABLE} WHERE id BETWEEN {first} AND {first + 10}")  # noqa: S608
        _MINE.valkey.ask(b"SET", key, b"x" * 200)
        self.send_response(200)
        self.send_header("Content-Length", "400")
        self.end_headers()
        self.wfile.write(b"x" * 400)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """The backlog is what servers usually have; the library's is 5."""

    request_queue_size = 512
    daemon_threads = True


def main() -> None:
    given = dict(argument.removeprefix("--").split("=", 1) for argument in sys.argv[1:])
    Handler.valkey, Handler.mariadb = int(given["valkey"]), int(given["mariadb"])
    fill(Handler.mariadb)
    address, port = given["listen"].split(":")
    gc.freeze()  # what stays for good is not gone through again
    Server((address, int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main()
