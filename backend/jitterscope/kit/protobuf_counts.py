"""Counts what a protobuf message consists of before it is parsed.

A submessage takes two bytes on the wire and up to hundreds in memory, so the size of a message does not limit what
parsing it takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# A message of this many bytes is parsed uncounted: it can take some 50 MB at most.
SMALL_BYTES = 512 * 1024
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5


class TooMany(Exception):
    """A message has more than `most` of `what`."""

    def __init__(self, what: str, most: int) -> None:
        super().__init__(f"it has more than {most} {what}")
        self.what, self.most = what, most


@dataclass(frozen=True, slots=True)
class Counted:
    """At most `most` of `what` in the whole message; fields with the same `what` are counted together.

    `within` are the counted fields of a submessage. A packed list of numbers counts with its bytes.
    """

    what: str
    most: int
    packed: bool = False
    within: Mapping[int, Counted] = field(default_factory=dict)


# Everything that a message's description does not name: single fields, and fields of newer senders.
_OTHERS = Counted("other fields", 500_000)


def check(content: bytes, fields: Mapping[int, Counted]) -> None:
    """Raise TooMany, or ValueError for bytes that are no message. `fields` by number."""
    if len(content) > SMALL_BYTES:
        _check(content, 0, len(content), fields, {})


def _check(content: bytes, at: int, end: int, fields: Mapping[int, Counted], counts: dict[str, int]) -> None:
    while at < end:
        tag, at = _varint(content, at, end)
        wire = tag & 7
        counted, amount, inside = fields.get(tag >> 3, _OTHERS), 1, at
        if wire == _LENGTH:
            length, inside = _varint(content, at, end)
            at = inside + length
            amount = length if counted.packed else 1
        elif wire == _VARINT:
            _, at = _varint(content, at, end)
        elif wire in (_FIXED64, _FIXED32):
            at += 8 if wire == _FIXED64 else 4
        else:
            raise ValueError("groups are not supported")
        if at > end:
            raise ValueError("a field is cut off")
        if counted.packed and wire != _LENGTH:
            counted = _OTHERS
        counts[counted.what] = counts.get(counted.what, 0) + amount
        if counts[counted.what] > counted.most:
            raise TooMany(counted.what, counted.most)
        if counted.within and wire == _LENGTH:
            _check(content, inside, at, counted.within, counts)


def _varint(content: bytes, at: int, end: int) -> tuple[int, int]:
    """A number, and the position after it."""
    value = shift = 0
    while at < end and shift < 70:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("a number is cut off")
