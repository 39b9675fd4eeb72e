"""Reads an untrusted file as lines: gzip is unpacked while reading, lines are truncated, sizes limited."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

_CHUNK = 1 << 18
MOST_LINE_BYTES = 64 * 1024
_CAPTURES = (
    b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1", b"\x0a\x0d\x0d\x0a",
)  # fmt: skip
_GZIP = b"\x1f\x8b"


class TooMuch(Exception):
    """The file unpacks to more than is allowed."""


class Damaged(Exception):
    """It begins like gzip, but is not."""


class Source:
    """One file. `at_bytes` is how much of it, as stored on disk, was read."""

    def __init__(self, path: Path, most_bytes: int, tell: Callable[[int], None] = lambda _: None) -> None:
        self._path, self._most, self._tell = path, most_bytes, tell
        self.cut_lines = 0
        self.ends_early = False

    def first_bytes(self, count: int) -> bytes:
        """The beginning, unpacked. Raises Damaged."""
        out = b""
        for chunk in self._chunks():
            out += chunk
            if len(out) >= count:
                break
        return out[:count]

    @property
    def is_capture(self) -> bool:
        """By the magic numbers of pcap (µs and ns, both byte orders) and pcapng; in gzip too."""
        return self.first_bytes(4) in _CAPTURES

    @property
    def is_binary(self) -> bool:
        """Text files have no NUL and hardly any other control characters."""
        head = self.first_bytes(8192)
        control = sum(byte < 32 and byte not in (9, 10, 12, 13, 27) for byte in head)
        return b"\0" in head or control > len(head) / 20

    def lines(self) -> Iterator[str]:
        """Lines without their ends; very long ones are truncated. Raises TooMuch, Damaged."""
        rest = b""
        cutting = False
        for chunk in self._chunks():
            parts = chunk.split(b"\n")
            for number, part in enumerate(parts):
                ended = number < len(parts) - 1
                if not cutting:
                    rest = rest + part if rest else part
                    if len(rest) > MOST_LINE_BYTES:
                        rest, cutting = rest[:MOST_LINE_BYTES], True
                        self.cut_lines += 1
                if ended:
                    yield _text(rest)
                    rest, cutting = b"", False
        if rest:
            yield _text(rest)

    def _chunks(self) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            packed = file.read(2) == _GZIP
            file.seek(0)
            total = 0
            for chunk in self._unpacked(file) if packed else iter(lambda: file.read(_CHUNK), b""):
                total += len(chunk)
                if total > self._most:
                    raise TooMuch
                self._tell(file.tell())
                yield chunk

    def _unpacked(self, file: BinaryIO) -> Iterator[bytes]:
        """All members of a gzip file; a truncated one yields what it has."""
        inflate = zlib.decompressobj(wbits=31)
        packed = file.read(_CHUNK)
        begun = False
        while packed or inflate.unconsumed_tail:
            try:
                out = inflate.decompress(inflate.unconsumed_tail or packed, _CHUNK)
            except zlib.error as error:
                if not begun:
                    raise Damaged(str(error)) from None
                self.ends_early = True
                return
            if out:
                begun = True
                yield out
            if inflate.eof:
                packed = inflate.unused_data or file.read(_CHUNK)
                packed += file.read(_CHUNK) if len(packed) < len(_GZIP) else b""
                if not packed.startswith(_GZIP):  # padding after the last member
                    return
                inflate = zlib.decompressobj(wbits=31)
            elif not inflate.unconsumed_tail:
                packed = file.read(_CHUNK)
        self.ends_early = not inflate.eof


def _text(line: bytes) -> str:
    # PostgreSQL and terminals do not accept NUL; incomplete characters become a replacement mark.
    return line.rstrip(b"\r").replace(b"\0", b"").decode(errors="replace")
